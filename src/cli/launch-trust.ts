// Which of a project's servers the user has agreed to start: kept in the store by a digest of the whole launch, never by name, so that
// any change asks again. Nothing is started, connected to or filled in here.
import { identify, type ServerDefinition, type ServerIdentity, type Surroundings } from '../host/index.ts';
import type { TrustedLaunch } from '../store/index.ts';
import type { State } from './state.ts';

export interface LaunchTrust {
  /** True when the server is not a project's, or its launch as it is now was agreed to. */
  covers(server: ServerDefinition): Promise<boolean>;
  /** What the server is now, and what was agreed to before: that very launch, or the last one of its name and file. */
  look(server: ServerDefinition): Promise<{ readonly now: ServerIdentity; readonly before: TrustedLaunch | undefined }>;
  /** Keeps that the user agrees to the launch as it is now. */
  add(server: ServerDefinition, channel: 'terminal' | 'cli'): Promise<void>;
}

export function openLaunchTrust(state: State, surroundings: Surroundings): LaunchTrust {
  const { workspaceFolder, home, env } = surroundings;
  const identity = (server: ServerDefinition) => identify(server, { key: state.key, workspaceFolder, home, path: env['PATH'] });
  const look: LaunchTrust['look'] = async (server) => {
    const now = await identity(server);
    await using store = await state.open();
    const [last] = await store.trust.list({ server: server.name, file: server.source.file });
    return { now, before: (await store.trust.find(now.launch)) ?? last };
  };
  return {
    look,
    async covers(server) {
      if (server.source.scope !== 'project') return true;
      const { now, before } = await look(server);
      return before?.digest === now.launch;
    },
    async add(server, channel) {
      const { launch: digest, facts } = await identity(server);
      const at = Date.now();
      const { name, source } = server;
      await using store = await state.open();
      await store.trust.add(
        { digest, server: name, file: source.file, launch: facts, by: state.user, at },
        { at, kind: 'trust', body: { launch: digest, server: name, file: source.file, by: state.user, channel } },
      );
    },
  };
}
