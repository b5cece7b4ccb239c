#!/usr/bin/env node
// Starts the command line in this process and sees to it that no server outlives it.
import { ParleyError } from '../errors.ts';
import { killAllGroups } from '../transport/index.ts';
import { processIo } from './io.ts';
import { main } from './main.ts';

const stop = new AbortController();
let interrupted = 0;
let catcher: (() => void) | undefined;

process.on('exit', killAllGroups);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (signal === 'SIGINT' && catcher !== undefined) return catcher();
    interrupted++;
    // Whoever asks twice does not want to wait for a clean end.
    if (interrupted > 1) process.exit(130);
    stop.abort(new ParleyError('aborted', 'Interrupted.'));
  });
}
// A reader that went away is no fault of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

const catchInterrupts = (handler: () => void) => {
  catcher = handler;
  return () => (catcher = undefined);
};
// Not waited for here: what is loaded later may come from this file, and would wait for its end.
void main(process.argv.slice(2), processIo({ signal: stop.signal, catchInterrupts })).then((exit) => {
  // All that was said is on its way; a terminal that was asked at would keep the process alive, and its own end takes a while.
  process.stdout.write('', () => process.stderr.write('', () => process.exit(exit)));
});
