// What the thread that checks schemas does: takes a schema and a value, says when the schema is ready, and what came of the check.
import { parentPort } from 'node:worker_threads';
import { isParleyError } from '../../errors.ts';
import { compileSchema } from '../../protocol/json-schema.ts';
import type { Said, Task } from './thread.ts';

const say = (said: Said) => parentPort?.postMessage(said);

parentPort?.on('message', ({ schema, value, options }: Task) => {
  try {
    const validate = compileSchema(schema, options);
    say({ type: 'compiled' });
    say({ type: 'checked', checked: validate(value) });
  } catch (error) {
    const { code, message, details } = isParleyError(error)
      ? error
      : { code: 'internal' as const, message: String(error), details: {} };
    say({ type: 'failed', code, message, details });
  }
});
say({ type: 'ready' });
