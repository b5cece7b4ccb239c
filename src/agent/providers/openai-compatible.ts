// A model behind a chat-completions API, as OpenAI, OpenRouter, Ollama, vLLM and llama.cpp have it. The library that speaks the wire
// is loaded with the first request. The key goes into one header and nowhere else.
import { systemClock, type Clock } from '../../base/index.ts';
import { ParleyError } from '../../errors.ts';
import { abortError } from '../../jsonrpc/index.ts';
import type { GenerateOptions, Model, ModelReply, ModelRequest } from '../model.ts';
import { boundedFetch } from './bounded-fetch.ts';
import { createFaults, type Failure } from './faults.ts';
import { retrying } from './retrying.ts';
import { fromContent, readStream, toPrompt, toTools } from './wire.ts';

export interface OpenAiCompatibleOptions {
  /** Up to where `/chat/completions` begins, as `https://api.openai.com/v1`. */
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKey?: string;
  /** What the key is called where the user sets it, for messages. */
  readonly keyName?: string;
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What people call the service. Default: the URL's host. */
  readonly name?: string;
  /** Milliseconds without a byte of an answer. Default and at most 300,000. */
  readonly timeoutMs?: number;
  readonly clock?: Clock;
}

/**
 * A model behind a chat-completions API. A rate limit and a failing server are tried again a few times, as long as nothing of the
 * answer has come.
 * @throws ParleyError `usage` for a URL or a header that cannot be
 */
export function openAiCompatible(options: OpenAiCompatibleOptions): Model {
  const { model, apiKey, timeoutMs = 300_000, clock = systemClock } = options;
  const baseUrl = checkUrl(options.baseUrl);
  checkHeaders({ ...options.headers, ...(apiKey !== undefined && { authorization: apiKey }) });
  const name = options.name ?? baseUrl.host;
  const address = baseUrl.href.replace(/\/$/, '');
  const faults = createFaults({ name, address, model, apiKey, keyName: options.keyName });

  async function attempt(request: ModelRequest, { signal, onText }: GenerateOptions): Promise<ModelReply | Failure> {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    const bounds = boundedFetch({ name, timeoutMs, clock });
    const provider = createOpenAICompatible({
      name: 'openaiCompatible',
      baseURL: address,
      includeUsage: true,
      fetch: bounds.fetch,
      ...(apiKey !== undefined && { apiKey }),
      ...(options.headers !== undefined && { headers: { ...options.headers } }),
    });
    const call = {
      prompt: toPrompt(request.messages),
      tools: toTools(request.tools),
      ...(signal && { abortSignal: signal }),
    };
    try {
      if (onText === undefined) {
        const { content, finishReason, usage } = await provider(model).doGenerate(call);
        return fromContent(content, finishReason, usage);
      }
      const { stream } = await provider(model).doStream(call);
      return await readStream(stream, onText);
    } catch (error) {
      if (signal?.aborted) throw abortError(signal, 'The request to the model');
      if (bounds.breach !== undefined) throw bounds.breach;
      return faults(error);
    } finally {
      bounds.end();
    }
  }

  return {
    label: `${model} (${name}, ${address})`,
    // A result of a tool is text in this protocol.
    takes: [],
    generate: (request, given = {}) => retrying((generateOptions) => attempt(request, generateOptions), given, clock),
  };
}

function checkUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new ParleyError('usage', 'The address of a model is no http or https URL. Write it as https://host/v1.');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new ParleyError(
      'usage',
      `The address of the model at ${url.host} may hold neither a password, a query nor a fragment.`,
    );
  }
  return url;
}

/** What the platform says of a header that cannot be sent shows the header. */
function checkHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && /^[\t\x20-\x7e]*$/.test(value)) continue;
    const what = name === 'authorization' ? 'The API key' : `The header "${name.slice(0, 64)}"`;
    throw new ParleyError('usage', `${what} holds characters that cannot be sent, such as a line end. Correct it.`);
  }
}
