// Reads what a server tells of a task and of the input it waits for. Nothing here trusts its texts or numbers.
import { ParleyError } from '../errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/index.ts';
import { violation } from './read.ts';
import type { DetailedTask, InputRequest, Task, TaskStatus } from './schema/index.ts';

/** Bytes the id of a task may have. */
const MAX_TASK_ID = 256;
/** Inputs that may be asked for at once, and characters of their keys. */
const MAX_INPUTS = 8;
const MAX_KEY = 128;
/** Characters of a status message that are kept. */
const MAX_MESSAGE = 1_024;

const STATUSES: readonly TaskStatus[] = ['working', 'input_required', 'completed', 'failed', 'cancelled'];

/** @throws ParleyError `protocol-violation` for what is no task, `limit` for an id that is too long */
export function readTask(value: JsonObject): Task {
  const { taskId, statusMessage, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs } = value;
  const status = STATUSES.find((each) => each === value['status']);
  if (typeof taskId !== 'string' || taskId === '') throw violation('a task without a taskId');
  if (status === undefined) throw violation('a task whose status is not known here');
  const bytes = Buffer.byteLength(taskId);
  if (bytes > MAX_TASK_ID) {
    throw new ParleyError('limit', `The server gave a task an id of more than ${String(MAX_TASK_ID)} bytes.`, {
      details: { limit: 'taskId', allowed: MAX_TASK_ID, observed: bytes },
    });
  }
  return {
    taskId,
    status,
    ...(typeof statusMessage === 'string' && { statusMessage: statusMessage.slice(0, MAX_MESSAGE) }),
    ...(typeof createdAt === 'string' && { createdAt }),
    ...(typeof lastUpdatedAt === 'string' && { lastUpdatedAt }),
    ttlMs: typeof ttlMs === 'number' ? ttlMs : null,
    ...(typeof pollIntervalMs === 'number' && { pollIntervalMs }),
  };
}

/** Reads an answer to `tasks/get` about the task `id`. @throws ParleyError as `readTask`, also for a task that is another */
export function readDetailedTask(value: JsonObject, id: string): DetailedTask {
  const task = readTask(value);
  if (task.taskId !== id) throw violation('another task than the one that was asked for');
  switch (task.status) {
    case 'input_required':
      return { ...task, status: task.status, inputRequests: readInputRequests(value['inputRequests'] ?? {}) };
    case 'completed': {
      const result = value['result'];
      if (!isObject(result)) throw violation('a completed task without a result');
      if ((result['resultType'] ?? 'complete') !== 'complete') throw violation('a completed task whose result is not complete');
      return { ...task, status: task.status, result };
    }
    case 'failed': {
      const error = value['error'];
      if (!isObject(error) || typeof error['code'] !== 'number') throw violation('a failed task without an error');
      const { code, message, data } = error;
      const text = typeof message === 'string' ? message : '';
      return { ...task, status: task.status, error: { code, message: text, ...(data !== undefined && { data }) } };
    }
    default:
      return { ...task, status: task.status };
  }
}

/** @throws ParleyError `protocol-violation` for what are no input requests, `limit` for too many */
export function readInputRequests(value: unknown): ReadonlyMap<string, InputRequest> {
  if (!isObject(value)) throw violation('inputRequests that are not an object');
  const entries = Object.entries(value);
  if (entries.length > MAX_INPUTS || entries.some(([key]) => key.length > MAX_KEY)) {
    throw new ParleyError('limit', `The server asked for more input at once than is allowed (${String(MAX_INPUTS)} requests).`, {
      details: { limit: 'inputRequests', allowed: MAX_INPUTS, observed: entries.length },
    });
  }
  const requests = new Map<string, InputRequest>();
  for (const [key, request] of entries) {
    if (!isObject(request) || typeof request['method'] !== 'string') throw violation('an input request without a method');
    const params = request['params'];
    if (params !== undefined && !isObject(params)) throw violation('an input request whose params are not an object');
    requests.set(key, { method: request['method'], ...(params !== undefined && { params }) });
  }
  return requests;
}
