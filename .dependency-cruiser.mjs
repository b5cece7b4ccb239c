// The arrows of ARCHITECTURE.md. Rooms import downwards only, and another room only through its door.
// Tests and fixtures may look into their own room and use any room.
const UNPUBLISHED = '([.]test[.]ts$|/fixtures/)';

/** Room → the rooms it may import, by their doors. `errors.ts` and `version.ts` are open to all. */
const ARROWS = {
  base: [],
  jsonrpc: ['base'],
  protocol: ['base', 'jsonrpc'],
  transport: ['base', 'jsonrpc'],
  auth: ['base', 'jsonrpc', 'transport'],
  store: ['base', 'jsonrpc'],
  client: ['base', 'jsonrpc', 'protocol', 'transport'],
  server: ['base', 'jsonrpc', 'protocol', 'transport'],
  host: ['base', 'jsonrpc', 'protocol', 'transport', 'auth', 'store', 'client', 'server'],
  agent: ['base', 'jsonrpc', 'protocol', 'transport', 'auth', 'store', 'client', 'server', 'host'],
  cli: ['base', 'jsonrpc', 'protocol', 'transport', 'auth', 'store', 'client', 'server', 'host', 'agent'],
  testing: ['base', 'jsonrpc', 'protocol', 'transport', 'client', 'server', 'host'],
};

/** Package → where it may be imported. Everything else from the registry is refused. */
const PACKAGES = {
  commander: '^src/cli/',
  ajv: '^src/protocol/json-schema[.]ts$',
  re2js: '^src/(base/re2|host/policy/pattern)[.]ts$',
  'jsonc-parser': '^src/host/config/',
  '@ai-sdk': '^src/agent/providers/',
  oauth4webapi: '^src/auth/',
  jose: '^src/auth/',
  '@napi-rs/keyring': '^src/auth/keychain[.]ts$',
  kysely: '^src/store/sql/',
  libsql: '^src/store/sql/',
  pg: '^src/store/sql/',
};

/**
 * What a room shows to others: its own index, and the one of each of transport's subpaths. The schema validator, the engine of
 * regular expressions, what the operating system is asked and what bounds a server have doors of their own, so that a client, which
 * comes through the index, does not load them.
 */
const DOOR = [
  '^src/[^/]+[.]ts$',
  '^src/[^/]+/index[.]ts$',
  '^src/transport/(stdio|http|sse)/index[.]ts$',
  '^src/protocol/json-schema[.]ts$',
  '^src/base/(re2|system|serving)[.]ts$',
];

const arrows = Object.entries(ARROWS).map(([room, below]) => ({
  name: `${room}-imports-downwards`,
  comment: `${room} may import ${['errors', ...below].join(', ')} and nothing else of src.`,
  severity: 'error',
  from: { path: `^src/${room}/`, pathNot: UNPUBLISHED },
  to: { path: '^src/', pathNot: `^src/((errors|version)[.]ts$|(${[room, ...below].join('|')})/)` },
}));

const packages = Object.entries(PACKAGES).map(([name, place]) => ({
  name: `${name}-stays-in-its-place`,
  severity: 'error',
  from: { path: '^src/', pathNot: [UNPUBLISHED, place] },
  to: { path: `node_modules/${name}(/|$)` },
}));

export default {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Two files of one room may name each other’s types; nothing may need itself to be loaded.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    { name: 'nothing-unresolved', severity: 'error', from: {}, to: { couldNotResolve: true } },
    ...arrows,
    {
      name: 'errors-stand-alone',
      severity: 'error',
      from: { path: '^src/(errors|version)[.]ts$' },
      to: { path: '^src/' },
    },
    {
      name: 'front-door-leaves-the-command-out',
      severity: 'error',
      from: { path: '^src/index[.]ts$' },
      to: { path: '^src/(cli|testing)/' },
    },
    {
      name: 'through-the-door',
      comment: "Another room's files are reached through its index.ts only.",
      severity: 'error',
      from: { path: '^src/([^/]+)/', pathNot: UNPUBLISHED },
      to: { path: '^src/[^/]+/', pathNot: [...DOOR, '^src/$1/'] },
    },
    {
      name: 'front-door-through-the-doors',
      severity: 'error',
      from: { path: '^src/index[.]ts$' },
      to: { path: '^src/', pathNot: DOOR },
    },
    {
      name: 'eras-behind-the-dialect',
      comment: 'protocol/legacy and protocol/modern are reached through protocol/dialect.ts only.',
      severity: 'error',
      from: { pathNot: ['^src/protocol/(legacy|modern)/', '^src/protocol/dialect[.]ts$', '^src/protocol/.*[.]test[.]ts$'] },
      to: { path: '^src/protocol/(legacy|modern)/' },
    },
    {
      name: 'eras-do-not-meet',
      severity: 'error',
      from: { path: '^src/protocol/(legacy|modern)/', pathNot: UNPUBLISHED },
      to: { path: '^src/protocol/(legacy|modern)/', pathNot: '^src/protocol/$1/' },
    },
    {
      name: 'processes-are-started-by-stdio',
      comment: 'Only the stdio transport starts programs; a sign-in opens the browser, and the command may where it must.',
      severity: 'error',
      from: { path: '^src/', pathNot: [UNPUBLISHED, '^src/transport/stdio/', '^src/auth/browser[.]ts$', '^src/cli/'] },
      to: { path: '^(node:)?child_process$' },
    },
    ...packages,
    {
      name: 'no-other-package',
      comment: 'A package is added together with the place it belongs to, in PACKAGES.',
      severity: 'error',
      from: { path: '^src/', pathNot: UNPUBLISHED },
      to: {
        path: 'node_modules/',
        pathNot: [`node_modules/(${Object.keys(PACKAGES).join('|')})(/|$)`, 'node_modules/@types/node/'],
      },
    },
    {
      name: 'nothing-shipped-imports-tests',
      severity: 'error',
      from: { path: '^(src|examples)/', pathNot: UNPUBLISHED },
      to: { path: [UNPUBLISHED, '^test/'] },
    },
    {
      name: 'examples-use-the-package',
      comment: 'An example imports parley as its users do, never its sources.',
      severity: 'error',
      from: { path: '^examples/' },
      to: { path: '^src/' },
    },
  ],
  options: {
    doNotFollow: { path: ['node_modules', '^dist'] },
    exclude: { path: '^dist/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.build.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types', 'default', 'node'] },
  },
};
