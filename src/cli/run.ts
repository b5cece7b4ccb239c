// Wraps a command: opens its workspace, runs it, and turns what it throws into a line and an exit code. Nothing escapes.
import type { Command } from 'commander';
import { isParleyError, RpcError } from '../errors.ts';
import { gutter } from '../host/index.ts';
import { exitOfError } from './exit.ts';
import type { Io } from './io.ts';
import { createPrinter, FORMS } from './output.ts';
import { openWorkspace, stderrOf, type GlobalOptions, type Workspace } from './workspace.ts';

/** What a command does; resolves with its exit code. Options are those of the command and the global ones. */
export type Action<O> = (workspace: Workspace, args: readonly string[], options: O & GlobalOptions) => number | Promise<number>;

/** Makes of an action what commander calls. With `broken`, that is its exit code when the configuration cannot be used. */
export type Run = <O = Record<never, never>>(
  action: Action<O>,
  options?: { readonly broken?: number },
) => (...given: unknown[]) => Promise<void>;

export function createRun(io: Io, done: (exit: number) => void): Run {
  return (action, { broken } = {}) =>
    async (...given) => {
      const command = given.at(-1) as Command;
      const options = command.optsWithGlobals<never>();
      const args = (given.slice(0, -2) as (string | string[] | undefined)[]).flat().filter((arg) => arg !== undefined);
      try {
        done(await action(openWorkspace(io, options), args, options));
      } catch (error) {
        const exit = report(io, options, error);
        done(broken !== undefined && isParleyError(error, 'config-invalid') ? broken : exit);
      }
    };
}

/** Says what went wrong and gives the exit code for it. */
export function report(io: Io, options: GlobalOptions, error: unknown): number {
  // An output form that does not exist must still be told about.
  const known = (FORMS as readonly (string | undefined)[]).includes(options.output);
  const printer = createPrinter(io, known ? options : { ...options, output: 'text' });
  if (isParleyError(error)) printer.error(error.code, error.message, { stderr: stderrOf(error) });
  else if (error instanceof RpcError) printer.error(`rpc.${error.code}`, `The server answered: ${error.message}`);
  else printer.error('internal', error instanceof Error ? error.message : String(error));
  if (error instanceof Error && error.stack !== undefined) printer.detail(gutter(error.stack));
  return exitOfError(error);
}
