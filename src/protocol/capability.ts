// Which client capabilities a request for input needs.
import { inputMethod } from './method.ts';
import type { ClientCapabilities, InputRequest } from './schema/index.ts';

/** What the client would have had to declare to be asked this; undefined when it did. */
export function missingFor(request: InputRequest, declared: ClientCapabilities): ClientCapabilities | undefined {
  const { elicitation, sampling, roots } = declared;
  const { method, params = {} } = request;
  switch (method) {
    case inputMethod.elicit:
      if (params['mode'] === 'url') return elicitation?.url === undefined ? { elicitation: { url: {} } } : undefined;
      // An empty object declares forms (client/elicitation, "Capabilities").
      if (elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)) return undefined;
      return { elicitation: { form: {} } };
    case inputMethod.sample:
      if (params['tools'] === undefined && params['toolChoice'] === undefined) {
        return sampling === undefined ? { sampling: {} } : undefined;
      }
      return sampling?.tools === undefined ? { sampling: { tools: {} } } : undefined;
    case inputMethod.listRoots:
      return roots === undefined ? { roots: {} } : undefined;
    default:
      return {};
  }
}
