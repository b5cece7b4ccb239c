// Fails when the built `parley/client` loads what a client has no need of: a package, another program, the rooms above it.
// It walks the static import statements from the built entry; what stands behind `import()` is loaded when it is used.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { fail } from './page.mjs';

const ENTRY = 'dist/client/index.js';
const REFUSED_BUILTINS = ['node:child_process', 'node:worker_threads', 'node:cluster'];
const REFUSED_FILES = /^dist\/(server|host|agent|cli|testing|transport\/stdio)\//;

if (existsSync(ENTRY)) {
  const { files, foreign } = loadedBy(ENTRY);
  for (const [name, from] of foreign) {
    if (!isBuiltin(name)) fail(`parley/client loads the package ${name}, from ${from}.`);
    else if (REFUSED_BUILTINS.includes(name)) fail(`parley/client loads ${name}, from ${from}.`);
  }
  for (const [file, from] of files) if (REFUSED_FILES.test(file)) fail(`parley/client loads ${file}, from ${from}.`);
  execFileSync(process.execPath, ['--input-type=module', '--eval', "await import('parley/client')"], { stdio: 'inherit' });
  console.log(`parley/client loads ${files.size} files and ${[...foreign.keys()].sort().join(', ') || 'nothing else'}.`);
} else fail(`${ENTRY} is not there. Run \`npm run build\`.`);

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
