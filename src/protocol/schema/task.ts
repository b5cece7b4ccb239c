// Tasks: a tool call that goes on after its answer, and what is heard of it since (SEP-2663).
import type { ErrorObject, JsonObject } from '../../jsonrpc/index.ts';
import type { InputRequest } from './input.ts';

export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

/** A task as its server tells of it. `statusMessage` is the server's own text. */
export interface Task {
  /** At most 256 bytes; any text. */
  readonly taskId: string;
  readonly status: TaskStatus;
  readonly statusMessage?: string;
  /** ISO 8601. */
  readonly createdAt?: string;
  readonly lastUpdatedAt?: string;
  /** Milliseconds from its creation after which the server may forget it; null for no end. */
  readonly ttlMs: number | null;
  /** Milliseconds the server wants between two questions about it. */
  readonly pollIntervalMs?: number;
}

/** A task with what belongs to its status. */
export type DetailedTask =
  | (Task & { readonly status: 'working' | 'cancelled' })
  | (Task & { readonly status: 'input_required'; readonly inputRequests: ReadonlyMap<string, InputRequest> })
  | (Task & { readonly status: 'completed'; readonly result: JsonObject })
  | (Task & { readonly status: 'failed'; readonly error: ErrorObject });

/** `params` of the requests about one task. */
export interface TaskParams {
  readonly taskId: string;
}

export interface UpdateTaskParams extends TaskParams {
  /** Answers by the keys of the task's input requests. */
  readonly inputResponses: Readonly<Record<string, JsonObject>>;
}
