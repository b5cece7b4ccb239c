// The authorization scenarios of the suite, played on Parley's public API alone. The person is played by a fetch that does not
// follow the redirect: the suite's authorization servers consent at once.
import { createAuthorizer, createGuard, createMemoryStore, discover } from '../dist/auth/index.js';
import { connect } from '../dist/client/index.js';
import { eitherTransport } from '../dist/transport/index.js';

const METADATA_URL = 'https://conformance-test.local/client-metadata.json';
const REDIRECT_URI = 'http://localhost:3000/callback';

/** Scenarios in which a token is not to be had: their point is what the client does not do. */
const REFUSED = new Set([
  'auth/scope-retry-limit',
  'auth/resource-mismatch',
  'auth/iss-supported-missing',
  'auth/iss-wrong-issuer',
  'auth/iss-unexpected',
  'auth/iss-normalized',
  'auth/metadata-issuer-mismatch',
]);

const person = {
  async open() {
    return {
      redirectUri: REDIRECT_URI,
      async visit({ url }) {
        const response = await fetch(url, { redirect: 'manual' });
        return response.headers.get('location') ?? '';
      },
      async close() {},
    };
  },
  confirm: async ({ kind }) => kind === 'issuer-changed',
};

/** Plays one scenario: connects with an authorizer, lists the tools and calls the one there is. */
export async function runAuthScenario(scenario, url, context, revision) {
  const authorizer = createAuthorizer({
    serverUrl: url,
    store: createMemoryStore(),
    interact: person,
    legacy: scenario.startsWith('auth/2025-03-26') ? 'allowed' : 'refused',
    ...(await roles(scenario, url, context)),
  });
  const act = async () => {
    const session = await connect(eitherTransport({ url, authorizer }), {
      client: { name: 'parley-conformance', version: '1.0.0' },
      revisions: [revision],
    });
    try {
      await session.listTools();
      await session.callTool('test-tool', {});
    } finally {
      await session.close();
    }
  };
  if (!REFUSED.has(scenario)) return act();
  const refused = await act().then(
    () => false,
    () => true,
  );
  if (!refused) throw new Error(`${scenario} should have failed, and did not.`);
}

/** Who the client is and in whose name it asks. */
async function roles(scenario, url, context) {
  const { client_id: clientId, client_secret: secret } = context;
  // Where the suite gives credentials without their issuer, they belong to the one that the server names.
  const registered = async (authentication) => ({
    registered: { issuer: context.issuer ?? (await issuerOf(url)), clientId, ...(authentication && { authentication }) },
  });
  switch (scenario) {
    case 'auth/pre-registration':
      return { client: await registered({ secret }) };
    case 'auth/client-credentials-basic':
      return { client: await registered({ secret }), grant: { kind: 'client-credentials' } };
    case 'auth/client-credentials-jwt': {
      const { private_key_pem: pem, signing_algorithm: algorithm } = context;
      return {
        client: await registered({ method: 'private_key_jwt', pem, algorithm }),
        grant: { kind: 'client-credentials' },
      };
    }
    case 'auth/enterprise-managed-authorization': {
      const provider = {
        issuer: context.idp_issuer,
        tokenEndpoint: context.idp_token_endpoint,
        clientId: context.idp_client_id,
        idToken: async () => context.idp_id_token,
      };
      return { client: await registered({ secret }), grant: { kind: 'enterprise', provider } };
    }
    case 'auth/wif-jwt-bearer':
      return { client: await registered(), grant: { kind: 'assertion', assertion: async () => context.valid_jwt } };
    default:
      return { client: { metadataUrl: METADATA_URL, name: 'Parley conformance', redirectUri: REDIRECT_URI } };
  }
}

async function issuerOf(url) {
  const serverUrl = new URL(url);
  const found = await discover(serverUrl, { guard: createGuard({ serverUrl }), signal: AbortSignal.timeout(10_000) });
  return found.server.issuer;
}
