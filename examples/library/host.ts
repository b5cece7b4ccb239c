// Several servers, a policy, and a model's tool loop.
import { homedir } from 'node:os';
// #region host
import { hostToolbox, runAgent, type Model } from 'parley/agent';
import { loadConfig, openHost, sayOutcome, type Approver } from 'parley/host';

/** Lets a model work with the servers of a configuration file; `approver` is asked about every call that is not free. */
export async function work(configFile: string, model: Model, approver: Approver, task: string) {
  const { config, diagnostics } = loadConfig({ configFile });
  for (const { file, message } of diagnostics) console.error(`${file}: ${message}`);

  const surroundings = { env: process.env, home: homedir(), workspaceFolder: process.cwd() };
  await using host = openHost({ config, surroundings, approver });
  await host.settled({ withinMs: 5_000 });

  // A call never throws: what became of it is a value.
  console.log(sayOutcome(await host.call('orders/get_order', { id: '1001' })));

  const messages = [{ role: 'user', text: task }] as const;
  return await runAgent({ model, toolbox: hostToolbox(host, model), messages, maxTurns: 10 });
}
// #endregion
