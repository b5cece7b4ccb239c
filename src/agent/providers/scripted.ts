// A model that plays a script, for examples and tests: no language model has any part in it, and its label says so.
import { modelName, parseName } from '../../host/index.ts';
import type { Model, ModelReply, ModelTool, ModelToolCall } from '../model.ts';
import type { ScriptStep } from './script-file.ts';

/** A model that gives one step of the script a turn, whatever it is told, and at the end says that it is over. */
export function scriptedModel(steps: readonly ScriptStep[]): Model {
  let next = 0;
  return {
    label: 'scripted model (no LLM is used)',
    takes: [],
    async generate({ tools }, { signal, onText } = {}): Promise<ModelReply> {
      signal?.throwIfAborted();
      const { say: text = '', call: calls = [] } = steps[next++] ?? { say: 'The script is over.' };
      if (text !== '') onText?.(text);
      const toolCalls = calls.map(({ tool, arguments: args }, index): ModelToolCall => ({
        id: `step_${next}_${index + 1}`,
        name: findTool(tool, tools),
        arguments: args ?? {},
      }));
      return { text, toolCalls, finish: toolCalls.length > 0 ? 'tool-calls' : 'stop' };
    },
  };
}

/** The name a model has for a tool that is written as people write it; as it is written where there is no such tool. */
function findTool(written: string, tools: readonly ModelTool[]): string {
  const names = new Set(tools.map(({ name }) => name));
  const readings = parseName(written, { has: () => true });
  const full = readings.map(({ server, name }) => (server === undefined ? name : modelName(server, name)));
  const bare = [...names].filter((name) => name.endsWith(`__${written}`));
  return full.find((name) => names.has(name)) ?? (bare.length === 1 ? (bare[0] as string) : written);
}
