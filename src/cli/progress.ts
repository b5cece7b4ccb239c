// One line on stderr that shows how far a long call is; nothing without a terminal.
import { oneLine } from '../host/index.ts';
import type { Progress } from '../jsonrpc/index.ts';
import type { Io } from './io.ts';

export interface ProgressLine {
  show(progress: Progress): void;
  /** Wipes the line. */
  clear(): void;
}

/** At most four times a second. */
const GAP_MS = 250;

export function createProgressLine(io: Io, label: string): ProgressLine {
  let shownAt = -Infinity;
  let dirty = false;
  const enabled = io.stderr.isTTY;
  return {
    show({ progress, total, message }) {
      const now = performance.now();
      if (!enabled || now - shownAt < GAP_MS) return;
      shownAt = now;
      dirty = true;
      const share =
        total === undefined || total <= 0 ? String(progress) : `${Math.min(100, Math.round((100 * progress) / total))} %`;
      io.stderr.write(
        `\r\u001b[K${oneLine(`${label}: ${share}${message === undefined ? '' : ` ${message}`}`, io.stderr.columns - 1 || 79)}`,
      );
    },
    clear() {
      if (dirty) io.stderr.write('\r\u001b[K');
      dirty = false;
    },
  };
}
