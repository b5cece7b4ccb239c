// Fails when a built entry loads what its users have no need of: a package, another program, the rooms above it.
// It walks the static import statements from the built entry; what stands behind `import()` is loaded when it is used.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { fail } from './page.mjs';

const REFUSED_BUILTINS = ['node:child_process', 'node:worker_threads', 'node:cluster'];

/** Entry → what it may not load of our own. `parley/store` loads the engine of a store when that is opened. */
const ENTRIES = {
  client: /^dist\/(server|store|host|agent|cli|testing|transport\/stdio)\//,
  store: /^dist\/(protocol|transport|auth|client|server|host|agent|cli|testing|store\/sql)\//,
};

for (const [name, refused] of Object.entries(ENTRIES)) check(`parley/${name}`, `dist/${name}/index.js`, refused);

function check(name, entry, refused) {
  if (!existsSync(entry)) return fail(`${entry} is not there. Run \`npm run build\`.`);
  const { files, foreign } = loadedBy(entry);
  for (const [module, from] of foreign) {
    if (!isBuiltin(module)) fail(`${name} loads the package ${module}, from ${from}.`);
    else if (REFUSED_BUILTINS.includes(module)) fail(`${name} loads ${module}, from ${from}.`);
  }
  for (const [file, from] of files) if (refused.test(file)) fail(`${name} loads ${file}, from ${from}.`);
  execFileSync(process.execPath, ['--input-type=module', '--eval', `await import('${name}')`], { stdio: 'inherit' });
  console.log(`${name} loads ${files.size} files and ${[...foreign.keys()].sort().join(', ') || 'nothing else'}.`);
}

/** The files and the foreign modules that `entry` loads, each with the first file that asks for it. */
function loadedBy(entry) {
  const files = new Map([[entry, 'its entry']]);
  const foreign = new Map();
  for (const file of files.keys()) {
    for (const name of importsOf(file)) {
      if (!name.startsWith('.')) foreign.set(name, foreign.get(name) ?? file);
      else if (!files.has(join(dirname(file), name))) files.set(join(dirname(file), name), file);
    }
  }
  return { files, foreign };
}

function importsOf(file) {
  const { statements } = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest);
  return statements
    .filter((statement) => ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement))
    .flatMap((statement) => (statement.moduleSpecifier === undefined ? [] : [statement.moduleSpecifier.text]));
}
