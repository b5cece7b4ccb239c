// One server, by hand.
// #region client
import { connect } from 'parley/client';
import { stdioTransport } from 'parley/transport/stdio';

/** Starts the server at `path`, and reads one order through it. */
export async function readOrder(path: string, id: string) {
  const session = await connect(stdioTransport({ command: process.execPath, args: [path] }));
  try {
    const { items } = await session.listTools();
    console.log(`${session.server.info?.name} speaks ${session.revision} and offers ${items.map(({ name }) => name).join(', ')}`);
    return await session.callTool('get_order', { id }, { timeoutMs: 10_000 });
  } finally {
    await session.close();
  }
}
// #endregion
