// `parley prompts complete` and `parley resources complete`: values a server suggests.
import { ParleyError } from '../../errors.ts';
import { forWire, oneLine, sayOutcome } from '../../host/index.ts';
import type { CompletionRef } from '../../protocol/index.ts';
import { exitCode, exitOfOutcome } from '../exit.ts';
import { serversFor, settle, withHost, type Workspace } from '../workspace.ts';

export function completeAndPrint(
  workspace: Workspace,
  kind: 'prompt' | 'template',
  typed: string,
  argument: string,
  value: string,
): Promise<number> {
  const { printer, io } = workspace;
  return withHost(workspace, serversFor(workspace, typed), async (host) => {
    await settle(host, workspace);
    const found = host.registry.snapshot.find(kind, typed);
    if (found.type !== 'found') throw new ParleyError('not-found', `There is no ${kind} "${typed}", or more than one.`);
    const { server, key } = found.entry;
    const ref: CompletionRef = kind === 'prompt' ? { type: 'ref/prompt', name: key } : { type: 'ref/resource', uri: key };
    const outcome = await host.complete(server, { ref, argument: { name: argument, value } }, { signal: io.signal });
    if (outcome.type !== 'ok') {
      const { exit, code } = exitOfOutcome(outcome);
      printer.error(code, sayOutcome(outcome));
      return exit;
    }
    const result = forWire(outcome.result);
    printer.result({
      json: result,
      text: () => result.completion.values.map((each) => oneLine(each, 200)).join('\n'),
      raw: () => result.completion.values.join('\n'),
    });
    return exitCode.ok;
  });
}
