// What the compiler cannot see. Style belongs to prettier, arrows between rooms to dependency-cruiser, unused code to knip.
import js from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

const tests = ['**/*.test.ts', 'test/**/*.ts'];

export default defineConfig(
  globalIgnores(['dist/', '**/node_modules/']),
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      // `return refuse(…)` and `void (a ? b() : c())` say "and that is all" in one line.
      '@typescript-eslint/no-confusing-void-expression': 'off',
      '@typescript-eslint/no-meaningless-void-operator': 'off',
      '@typescript-eslint/no-dynamic-delete': 'off',
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      '@typescript-eslint/no-generated-empty-object-type': 'off',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      // An async method may fulfil a port without a wait of its own.
      '@typescript-eslint/require-await': 'off',
      // Loops of the form `while (true)` with an exit inside.
      '@typescript-eslint/no-unnecessary-condition': ['error', { allowConstantLoopConditions: 'only-allowed-literals' }],
      // With noUncheckedIndexedAccess an index that is surely there is written `as T` or `!`; both say the same.
      '@typescript-eslint/no-non-null-assertion': 'off',
      // Checks of what a peer sent narrow `unknown` by hand; an index signature is read by brackets or by dot as it reads best.
      '@typescript-eslint/dot-notation': 'off',
      // What a factory returns is closures, made to be taken apart; a class with #private fields fails loudly by itself.
      '@typescript-eslint/unbound-method': 'off',
      'no-restricted-syntax': ['error', { selector: 'ExportDefaultDeclaration', message: 'Named exports only.' }],
      'no-console': 'error',
      eqeqeq: 'error',
    },
  },
  {
    files: tests,
    rules: {
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      '@typescript-eslint/no-misused-spread': 'off',
    },
  },
  { files: ['src/cli/**/*.ts', 'examples/**/*.ts', 'bench/**/*.ts'], rules: { 'no-console': 'off' } },
  // Peers of earlier revisions are reached through what their newer releases call deprecated.
  { files: ['test/interop/**/*.ts'], rules: { '@typescript-eslint/no-deprecated': 'off' } },
  { files: ['*.config.ts', 'scripts/count-reporter.ts'], rules: { 'no-restricted-syntax': 'off' } },
  {
    files: ['**/*.mjs', '**/*.js'],
    languageOptions: {
      globals: Object.fromEntries(Object.getOwnPropertyNames(globalThis).map((name) => [name, 'readonly'])),
    },
    rules: { eqeqeq: 'error' },
  },
);
