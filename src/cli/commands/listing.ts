// The `list` of each kind of thing that servers offer: of all servers, or of the one that is named.
import type { Command } from 'commander';
import type { Host } from '../../host/index.ts';
import { exitCode } from '../exit.ts';
import type { Result } from '../output.ts';
import type { Run } from '../run.ts';
import { settle, usableServer, withHost } from '../workspace.ts';

/** Adds `list [server]` to `parent`, and makes it what the parent does by itself. */
export function addListCommand(parent: Command, run: Run, what: string, listing: (host: Host) => Result): void {
  parent
    .command('list', { isDefault: true })
    .description(`List ${what}, of all servers or of one`)
    .argument('[server]')
    .action(
      run((workspace, [server]) =>
        withHost(workspace, server === undefined ? undefined : [usableServer(workspace, server).name], async (host) => {
          await settle(host, workspace);
          workspace.printer.result(listing(host));
          return exitCode.ok;
        }),
      ),
    );
}
