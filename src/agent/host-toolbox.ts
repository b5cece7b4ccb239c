// A host's tools as a model's. What servers say of their tools and in their results goes out through the host's exits; what people
// are told of a decision never reaches the model.
import { isObject, type JsonObject } from '../jsonrpc/index.ts';
import {
  forHuman,
  forModel,
  sayFindings,
  sayOutcome,
  stripHidden,
  type CallRecord,
  type Host,
  type ModelPart,
  type ToolEntry,
  type ToolOutcome,
} from '../host/index.ts';
import type { Model, ModelTool } from './model.ts';
import type { Toolbox, ToolReply } from './toolbox.ts';

/** More tools than that are taken by hardly any model API. */
export const MOST_TOOLS = 128;
/** Characters of a description. */
const LONGEST_DESCRIPTION = 16_384;
const PREVIEW = { lines: 8, characters: 2_048, lineCharacters: 200 };

/** The tools of all servers of a host, those of the highest priority first, at most 128, and none that is not what was reviewed; each call goes through its router. */
export function hostToolbox(host: Host, { takes }: Pick<Model, 'takes'>): Toolbox {
  const known = new WeakMap<ToolEntry, ModelTool>();

  function toModelTool(entry: ToolEntry): ModelTool {
    const tool = known.get(entry) ?? describe(entry);
    known.set(entry, tool);
    return tool;
  }

  function read({ value }: Extract<ToolOutcome, { type: 'ok' | 'tool-error' }>['result']): Promise<readonly ModelPart[]> {
    return forModel(value, {
      takes,
      limits: { modelText: host.config.settings.maxResultBytes },
      // Where nothing can be kept any more, the beginning is still worth reading.
      spill: (text) => host.spill.keep(value.source.server, text).catch(() => undefined),
    });
  }

  async function toReply(outcome: ToolOutcome): Promise<ToolReply> {
    const { type: status } = outcome;
    const summary = sayOutcome(outcome);
    if (outcome.type !== 'ok' && outcome.type !== 'tool-error')
      return { status, summary, parts: [textPart(stripHidden(summary))] };
    const parts = await read(outcome.result);
    return {
      status,
      summary,
      parts: outcome.type === 'ok' ? parts : [textPart(summary), ...parts],
      preview: [forHuman(outcome.result.value, PREVIEW), sayFindings(outcome.result.findings)].filter(Boolean).join('\n'),
    };
  }

  return {
    tools: () =>
      host.registry.snapshot.tools
        .filter((tool) => host.drift(tool) === undefined)
        .slice(0, MOST_TOOLS)
        .map(toModelTool),
    async call(name, args, options = {}) {
      const records: CallRecord[] = [];
      const stop = host.events.subscribe((event) => {
        if (event.type === 'call') records.push(event.record);
      });
      const outcome = await host.call(name, args, options);
      stop();
      const because = records.find((record) => record.outcome === outcome)?.because;
      return { ...(await toReply(outcome)), ...(because !== undefined && { because }) };
    },
  };
}

function describe({ modelName, definition }: ToolEntry): ModelTool {
  const { description, title = '', inputSchema } = definition;
  const text = description ?? title;
  const shown = text.length > LONGEST_DESCRIPTION ? `${text.slice(0, LONGEST_DESCRIPTION - 1)}…` : text;
  return { name: modelName, description: stripHidden(shown), inputSchema: withoutHidden(inputSchema) as JsonObject };
}

/** Keywords that only a reader minds: the rest must stay as it is, or arguments that fit it would not fit the server's. */
const PROSE = new Set(['description', 'title', '$comment']);

function withoutHidden(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutHidden);
  if (!isObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      PROSE.has(key) && typeof value === 'string' ? stripHidden(value) : withoutHidden(value),
    ]),
  );
}

function textPart(text: string): ModelPart {
  return { type: 'text', text };
}
