// Builds the `parley` command into few files: what it needs to begin in one, what not every command needs in others. Starting is mostly
// loading, and a file costs more to find and open than to read. Does nothing when what is there is newer than all that it is made of.
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

const OUT = 'dist/cli';
const NOTICES = join(OUT, 'THIRD-PARTY-LICENSES.txt');
/** Compiled code, and what stands in for it: loaded from where it is installed. */
const NATIVE = ['libsql', '@napi-rs/keyring', 'pg-native', 'pg-cloudflare'];
/** What `parley call` never needs. */
const MORE =
  /\/src\/(agent\/|cli\/(commands\/(?!call|tools)|consent|conversation|lines|sandbox|screen)|host\/(config\/(draft|edit|text-edit|write)|policy\/replay))/;
/** What is loaded together, and would be a file each since more than one other needs it. */
const TOGETHER = [
  { name: 'common', test: /\/src\/(errors[.]ts|base\/|jsonrpc\/|protocol\/format[.]ts|transport\/framing\/|store\/[^/]+[.]ts)/ },
  { name: 'commands', test: MORE, includeDependenciesRecursively: false },
  { name: 'sql', test: /\/kysely\/|\/src\/store\/sql\/(?!sqlite|postgres)/ },
];
/** Escapes all that is not ASCII: V8 reads a text in half of the bytes, and faster, when it has no other character in it. */
const ASCII = {
  name: 'ascii',
  generateBundle(_options, output) {
    for (const chunk of Object.values(output))
      chunk.code = chunk.code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  },
};

if (isStale()) await bundle();

/** True unless the notices, which are written last, are newer than every source and everything that is installed. */
function isStale() {
  if (!existsSync(NOTICES)) return true;
  const sources = readdirSync('src', { recursive: true }).map((name) => join('src', name));
  const from = [...sources, 'package-lock.json', 'scripts/bundle.mjs'];
  const { mtimeMs } = statSync(NOTICES);
  return from.some((file) => statSync(file).mtimeMs > mtimeMs);
}

async function bundle() {
  const build = await rolldown({
    // The program of a thread is found beside whoever starts it.
    input: { bin: 'src/cli/bin.ts', program: 'src/host/schemas/program.ts' },
    platform: 'node',
    external: NATIVE,
    preserveEntrySignatures: false,
    resolve: { mainFields: ['module', 'main'] },
    transform: { target: 'node20.19' },
    // It does not say so, and makes twelve hundred texts for a part of it that is not used here.
    treeshake: { moduleSideEffects: [{ test: /\/jsonc-parser\//, sideEffects: false }] },
  });
  const { output } = await build.write({
    dir: OUT,
    // Node starts it sooner than modules, which it has to be ready for first, and which list all that its own modules export.
    format: 'cjs',
    strict: true,
    chunkFileNames: '[name].js',
    plugins: [ASCII],
    // Not minified: a stack trace names functions and lines that can be read.
    comments: { legal: true, jsdoc: false, annotation: false },
    codeSplitting: { groups: TOGETHER },
  });
  await build.close();
  const written = new Set(output.map(({ fileName }) => fileName));
  for (const name of readdirSync(OUT)) if (!written.has(name)) rmSync(join(OUT, name), { recursive: true });
  writeFileSync(join(OUT, 'package.json'), '{ "type": "commonjs" }\n');
  writeFileSync(NOTICES, notices(output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))));
}

/** The licences of all packages that some of these modules are of, as they ask it. */
function notices(modules) {
  const packages = new Set(modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id) ?? []));
  return [...packages]
    .sort()
    .map(notice)
    .join(`\n${'-'.repeat(80)}\n\n`);
}

/** @throws when a package does not say under which licence it is */
function notice(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  if (license === undefined && file === undefined) throw new Error(`${name} has no licence.`);
  return `${name} ${version} (${license})\n\n${file === undefined ? '' : readFileSync(join(folder, file), 'utf8').trim()}\n`;
}
