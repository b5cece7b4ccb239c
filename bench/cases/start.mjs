// What it costs to begin: importing a client, and one call from the command line with nothing running before it.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { CLIENTS } from '../clients.mjs';
import { installedMb } from '../installed.mjs';
import { plainStdio } from '../plain.mjs';

const run = promisify(execFile);
const here = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));

const IMPORT = `
  const before = process.memoryUsage().rss, start = performance.now();
  await import(process.argv[1]);
  console.log(JSON.stringify({ value: performance.now() - start, mib: (process.memoryUsage().rss - before) / 1048576 }));`;

const importCase = {
  name: 'import',
  title: 'importing the client',
  unit: 'ms',
  better: 'less',
  cold: true,
  contenders: Object.keys(CLIENTS).filter((name) => CLIENTS[name].entry !== undefined),
  targets: { 'official 2': 3 },
  extra: { mib: 'MiB of memory', installed: 'MB installed' },
  bounds: [{ what: 'a third of the memory of official 2', of: 'mib', most: (of) => of('official 2', 'mib') / 3 }],
  async prepare(contender) {
    const { entry } = CLIENTS[contender];
    const ours = entry.startsWith('.');
    const url = import.meta.resolve(ours ? here(entry) : entry);
    const installed = ours ? installedMb(here('..'), ['dist']) : installedMb(bin(/^(?:@[^/]+\/)?[^/]+/.exec(entry)[0]));
    return {
      async round() {
        const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', IMPORT, url], { cwd: here('.') });
        return { ...JSON.parse(stdout), installed };
      },
    };
  },
};

/** Contender → its command line for one call of the plain server over stdio, given a configuration file and its directory. */
const COMMANDS = {
  'node -e 0': () => [process.execPath, ['-e', '0']],
  'the server': () => [process.execPath, [here('server.mjs')]],
  parley: (config) => [
    process.execPath,
    [here('../dist/cli/bin.js'), '--config', config, '--allow', 'plain/*', 'call', 'plain/echo', 'text=hello'],
  ],
  mcporter: (config) => [bin('mcporter/dist/cli.js'), ['--config', config, 'call', 'plain.echo', 'text=hello']],
  mcpc: () => [bin('@apify/mcpc/bin/mcpc'), ['@bench', 'tools-call', 'echo', 'text:=hello']],
  inspector: (config) => [
    bin('@modelcontextprotocol/inspector/cli/build/cli.js'),
    [
      '--cli',
      '--config',
      config,
      '--server',
      'plain',
      '--method',
      'tools/call',
      '--tool-name',
      'echo',
      '--tool-arg',
      'text=hello',
    ],
  ],
};
const bin = (name) => here(`node_modules/${name}`);

const cliCase = {
  name: 'cli',
  title: 'one call from the command line',
  unit: 'ms',
  better: 'less',
  cold: true,
  base: 'node -e 0',
  contenders: Object.keys(COMMANDS),
  targets: { mcporter: 1, mcpc: 1, inspector: 1 },
  bounds: [{ what: '1.5 × `node -e 0` and the server', most: (of) => 1.5 * of('node -e 0') + of('the server') }],
  async prepare(contender) {
    const directory = mkdtempSync(join(tmpdir(), 'parley-bench-'));
    const config = join(directory, 'mcp.json');
    const { command, args } = plainStdio().way;
    writeFileSync(config, JSON.stringify({ mcpServers: { plain: { command, args } } }));
    const [command_, args_] = COMMANDS[contender](config);
    const [file, words] = command_ === process.execPath ? [command_, args_] : [process.execPath, [command_, ...args_]];
    const env = { ...process.env, HOME: directory, XDG_STATE_HOME: directory, XDG_CONFIG_HOME: directory };
    const mcpc = (...rest) => run(process.execPath, [bin('@apify/mcpc/bin/mcpc'), ...rest], { cwd: directory, env });
    return {
      async round() {
        const start = performance.now();
        // It has no call without a session: what it takes to open one counts, what it takes to close it does not.
        if (contender === 'mcpc') await mcpc('connect', `${config}:plain`, '@bench');
        const done = run(file, words, { cwd: directory, env });
        // The server ends with its input.
        done.child.stdin.end();
        const { stdout } = await done;
        const value = performance.now() - start;
        if (contender === 'mcpc') await mcpc('close', '@bench');
        if (!['node -e 0', 'the server'].includes(contender) && !stdout.includes('hello'))
          throw new Error('It did not call the tool.');
        return { value };
      },
      close: () => rmSync(directory, { recursive: true, force: true }),
    };
  },
};

export const cases = [importCase, cliCase];
