// A model as people name it in one word, `openai:gpt-5`, with its address and key from the environment. A key is only ever sent to
// the service it was set for.
import { resolve } from 'node:path';
import { didYouMean } from '../../base/index.ts';
import { ParleyError } from '../../errors.ts';
import type { Model } from '../model.ts';
import { openAiCompatible } from './openai-compatible.ts';
import { readScript } from './script-file.ts';
import { scriptedModel } from './scripted.ts';

export interface ModelSurroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What a script's path starts from. */
  readonly cwd: string;
}

interface Service {
  readonly baseUrl: string;
  /** The variable that holds the key; absent where none is needed. */
  readonly key?: string;
}

const SERVICES: Readonly<Record<string, Service>> = {
  openai: { baseUrl: 'https://api.openai.com/v1', key: 'OPENAI_API_KEY' },
  openrouter: { baseUrl: 'https://openrouter.ai/api/v1', key: 'OPENROUTER_API_KEY' },
  ollama: { baseUrl: 'http://127.0.0.1:11434/v1' },
  vllm: { baseUrl: 'http://127.0.0.1:8000/v1' },
  llamacpp: { baseUrl: 'http://127.0.0.1:8080/v1' },
};

const OWN_KEY = 'PARLEY_API_KEY';
const OWN_URL = 'PARLEY_BASE_URL';

/** The ways to name a model, for help and messages. */
export const MODEL_FORMS =
  'openai:MODEL, openrouter:MODEL, ollama:MODEL, vllm:MODEL, llamacpp:MODEL, http://HOST/v1#MODEL, scripted:FILE.json';

/**
 * The model that a text names. PARLEY_BASE_URL takes the place of a service's address, and PARLEY_API_KEY that of its key; the
 * service's own key stays unused when the address is another.
 * @throws ParleyError `usage` for a text that names none; `auth-required` where a key is missing
 */
export function parseModelSpec(spec: string, { env, cwd }: ModelSurroundings): Model {
  const variable = (name: string) => env[name]?.trim() || undefined;
  const ownKey = variable(OWN_KEY);
  if (/^https?:\/\//i.test(spec)) {
    const [baseUrl = '', model = ''] = spec.split(/#(.*)/s);
    if (model === '')
      throw new ParleyError('usage', 'The address names no model. Write it behind the address, as http://HOST/v1#MODEL.');
    return openAiCompatible({ baseUrl, model, keyName: OWN_KEY, ...(ownKey !== undefined && { apiKey: ownKey }) });
  }
  const [name = '', rest = ''] = spec.split(/:(.*)/s);
  if (name === 'scripted' && rest !== '') return scriptedModel(readScript(resolve(cwd, rest)));
  const service = Object.hasOwn(SERVICES, name) ? SERVICES[name] : undefined;
  if (service === undefined || rest === '') throw new ParleyError('usage', sayUnknown(spec, name));

  const ownUrl = variable(OWN_URL);
  const theirKey = service.key === undefined || ownUrl !== undefined ? undefined : service.key;
  const apiKey = ownKey ?? (theirKey === undefined ? undefined : variable(theirKey));
  if (apiKey === undefined && theirKey !== undefined) {
    throw new ParleyError('auth-required', `The model ${spec} needs a key. Set ${theirKey} in the environment.`);
  }
  return openAiCompatible({
    baseUrl: ownUrl ?? service.baseUrl,
    model: rest,
    name,
    keyName: ownKey !== undefined ? OWN_KEY : (theirKey ?? OWN_KEY),
    ...(apiKey !== undefined && { apiKey }),
  });
}

function sayUnknown(spec: string, name: string): string {
  const near = didYouMean(name, [...Object.keys(SERVICES), 'scripted']);
  return `"${spec.slice(0, 128)}" names no model.${near} Write one of ${MODEL_FORMS}.`;
}
