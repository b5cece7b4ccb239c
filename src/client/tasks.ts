// The tasks of one session that are being followed: few at once, woken by news of them, and given up with the session.
import { ParleyError, RpcError } from '../errors.ts';
import { limitOf, overLimit } from '../base/index.ts';
import { declares, extension, method, readDetailedTask, type ServerCapabilities, type Task } from '../protocol/index.ts';
import { LiveTask, lostSight, type FollowOptions, type TaskPort } from './task.ts';

export class Tasks {
  readonly #port: TaskPort;
  readonly #capabilities: ServerCapabilities;
  readonly #live = new Set<LiveTask>();

  constructor(port: TaskPort, capabilities: ServerCapabilities) {
    this.#port = port;
    this.#capabilities = capabilities;
  }

  /**
   * Follows the task that the request `what` became.
   * @throws ParleyError `protocol-violation` when the server did not say that it has tasks, `limit` when too many are followed
   */
  follow(what: string, seed: Task, options: FollowOptions): LiveTask {
    if (!declares(this.#capabilities, extension.tasks)) {
      throw new ParleyError('protocol-violation', `The server answered ${what} with a task, but did not say that it has tasks.`);
    }
    const allowed = limitOf('maxTasks', this.#port.maxTasks);
    if (this.#live.size >= allowed) {
      this.#port.request(method.cancelTask, { taskId: seed.taskId }, {}).catch(() => {});
      const why = `${what} became a task, but ${String(allowed)} tasks of this server are at work already; it was cancelled.`;
      throw overLimit('maxTasks', this.#live.size + 1, why, allowed);
    }
    const task = new LiveTask(what, seed, this.#port, options);
    this.#live.add(task);
    const leave = () => void this.#live.delete(task);
    task.outcome.then(leave, leave);
    return task;
  }

  /** Follows a task of a call made earlier. @throws ParleyError `outcome-unknown` when the server does not know it */
  async resume(what: string, id: string, options: FollowOptions): Promise<LiveTask> {
    const { signal, timeoutMs } = options;
    try {
      const asked = { ...(signal && { signal }), ...(timeoutMs !== undefined && { timeoutMs }) };
      const answer = await this.#port.request(method.getTask, { taskId: id }, asked);
      return this.follow(what, readDetailedTask(answer, id), options);
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      throw lostSight(what, 'the server does not know the task, or no longer', error);
    }
  }

  /** There is news of the task `id`. */
  wake(id: string): void {
    for (const task of this.#live) if (task.id === id) task.wake();
  }

  stop(error: Error): void {
    for (const task of this.#live) task.stop(error);
  }
}
