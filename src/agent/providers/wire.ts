// Between the agent's neutral words and the library's: conversation and tools out, replies in.
import type {
  LanguageModelV3Content,
  LanguageModelV3FinishReason,
  LanguageModelV3FunctionTool,
  LanguageModelV3Message,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
} from '@ai-sdk/provider';
import { isObject } from '../../jsonrpc/index.ts';
import type { ModelPart } from '../../host/index.ts';
import type { Finish, ModelMessage, ModelReply, ModelTool, ModelToolCall } from '../model.ts';

/** The conversation as the library takes it. */
export function toPrompt(messages: readonly ModelMessage[]): LanguageModelV3Message[] {
  return messages.map((message): LanguageModelV3Message => {
    switch (message.role) {
      case 'system':
        return { role: 'system', content: message.text };
      case 'user':
        return { role: 'user', content: [{ type: 'text', text: message.text }] };
      case 'assistant':
        return {
          role: 'assistant',
          content: [
            ...(message.text === '' ? [] : [{ type: 'text' as const, text: message.text }]),
            ...message.toolCalls.map((call) => ({
              type: 'tool-call' as const,
              toolCallId: call.id,
              toolName: call.name,
              // Many servers fail on arguments that are no object, also on those of the past.
              input: isObject(call.arguments) ? call.arguments : {},
            })),
          ],
        };
      case 'tool': {
        const value = message.parts.map(textOf).join('\n\n');
        const output = { type: 'text' as const, value };
        return { role: 'tool', content: [{ type: 'tool-result', toolCallId: message.id, toolName: message.name, output }] };
      }
      default:
        return message satisfies never;
    }
  });
}

function textOf(part: ModelPart): string {
  return part.type === 'text' ? part.text : `[${part.type} omitted: ${part.mimeType}]`;
}

/** The tools as the library takes them. Some servers want `properties` even where there are none. */
export function toTools(tools: readonly ModelTool[]): LanguageModelV3FunctionTool[] {
  return tools.map(({ name, description, inputSchema }) => ({
    type: 'function',
    name,
    description,
    inputSchema: { properties: {}, ...inputSchema },
  }));
}

/** The reply that a whole answer is. */
export function fromContent(
  content: readonly LanguageModelV3Content[],
  finishReason: LanguageModelV3FinishReason,
  usage: LanguageModelV3Usage,
): ModelReply {
  return {
    text: content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(''),
    toolCalls: content.flatMap((part) => (part.type === 'tool-call' ? [toCall(part)] : [])),
    finish: FINISH[finishReason.unified],
    ...readUsage(usage),
  };
}

/** The reply that a stream comes to. @throws what the stream holds in the place of a reply */
export async function readStream(
  stream: ReadableStream<LanguageModelV3StreamPart>,
  onText: (delta: string) => void,
): Promise<ModelReply> {
  const content: LanguageModelV3Content[] = [];
  for await (const part of stream) {
    switch (part.type) {
      case 'text-delta':
        content.push({ type: 'text', text: part.delta });
        onText(part.delta);
        break;
      case 'tool-call':
        content.push(part);
        break;
      case 'error':
        throw part.error;
      case 'finish':
        return fromContent(content, part.finishReason, part.usage);
      default:
    }
  }
  throw new Error('The stream ended without saying why.');
}

const FINISH: Readonly<Record<LanguageModelV3FinishReason['unified'], Finish>> = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'filter',
  'tool-calls': 'tool-calls',
  error: 'other',
  other: 'other',
};

function toCall({ toolCallId, toolName, input }: Extract<LanguageModelV3Content, { type: 'tool-call' }>): ModelToolCall {
  return { id: toolCallId, name: toolName, arguments: readArguments(input) };
}

function readArguments(text: string): unknown {
  // How some models say that there are none.
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function readUsage({ inputTokens, outputTokens }: LanguageModelV3Usage): Pick<ModelReply, 'usage'> {
  const [input, output] = [inputTokens.total, outputTokens.total];
  return input === undefined && output === undefined ? {} : { usage: { inputTokens: input ?? 0, outputTokens: output ?? 0 } };
}
