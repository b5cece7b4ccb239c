// A model that does whatever it reads: the worst case of prompt injection, without an LLM. Each line `CALL tool {json}` in a result is
// an order to it, one a turn, and RESULT stands for the last result.
import type { Model, ModelMessage } from 'parley/agent';

export function obedientModel(first: { readonly tool: string; readonly arguments: object }): Model {
  const orders = [{ tool: first.tool, json: JSON.stringify(first.arguments) }];
  let heard = 0;
  return {
    label: 'obedient model (no LLM is used)',
    takes: [],
    async generate({ messages, tools }) {
      const results = messages.flatMap((message) => (message.role === 'tool' ? [textOf(message)] : []));
      for (const result of results.slice(heard)) {
        for (const [, tool = '', json = ''] of result.matchAll(/^CALL (\S+) (.*)$/gm)) orders.push({ tool, json });
      }
      heard = results.length;
      const order = orders.shift();
      if (order === undefined) return { text: `I was told: ${results.at(-1) ?? 'nothing'}`, toolCalls: [], finish: 'stop' };
      const name = tools.find((tool) => tool.name === order.tool.replace('/', '__'))?.name ?? order.tool;
      const args: unknown = JSON.parse(order.json.replace('RESULT', results.at(-1) ?? ''));
      return { text: '', toolCalls: [{ id: `call_${heard}`, name, arguments: args }], finish: 'tool-calls' };
    },
  };
}

function textOf({ parts }: Extract<ModelMessage, { role: 'tool' }>): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}
