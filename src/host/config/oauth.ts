// How a user has a server signed in at, as a file says it: read and checked here, and given by the user's own files alone.
import { hasPlaceholder, references } from './expand.ts';
import type { Fields } from './fields.ts';
import type { OAuthSettings } from './shape.ts';

/** The texts that may hold placeholders. */
const TEXTS = ['clientId', 'clientSecret', 'privateKey', 'issuer', 'clientMetadataUrl', 'redirectUri'] as const;
const KEYS = [...TEXTS, 'keyAlgorithm', 'account', 'grant', 'scopes', 'legacy', 'trustedHosts'];
const GRANTS = ['code', 'client-credentials'] as const;
/** @see RFC 6749, section 3.3 */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** What `oauth` of an entry sets; what is wrong with it is said. Undefined when there is none. */
export function readOAuth(entry: Fields): OAuthSettings | undefined {
  const fields = entry.object('oauth');
  if (fields === undefined) return undefined;
  fields.expectOnly(KEYS);
  const grant = fields.text('grant');
  if (grant !== undefined && !isGrant(grant)) fields.fail('grant', `"grant" must be one of ${GRANTS.join(' and ')}.`);
  const scopes = fields.texts('scopes');
  if (scopes?.some((scope) => !SCOPE.test(scope))) fields.fail('scopes', 'a scope has no blanks, quotes or backslashes.');
  const texts = Object.fromEntries(TEXTS.map((key) => [key, fields.text(key)] as const));
  for (const [key, text] of Object.entries(texts)) checkPlaceholders(fields, key, text);
  const settings = {
    ...texts,
    keyAlgorithm: fields.text('keyAlgorithm'),
    account: fields.text('account'),
    grant: grant !== undefined && isGrant(grant) ? grant : undefined,
    scopes,
    legacy: fields.flag('legacy'),
    trustedHosts: fields.texts('trustedHosts'),
  };
  checkClient(fields, grant);
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}

/** The settings with `change` applied to every text that may hold placeholders. */
export function mapOAuthTexts(settings: OAuthSettings, change: (text: string, key: string) => string): OAuthSettings {
  const changed = TEXTS.flatMap((key) => {
    const text = settings[key];
    return text === undefined ? [] : [[key, change(text, key)] as const];
  });
  return { ...settings, ...Object.fromEntries(changed) };
}

function isGrant(text: string): text is (typeof GRANTS)[number] {
  return (GRANTS as readonly string[]).includes(text);
}

/** What belongs to a client that its owner registered makes no sense without the others. */
function checkClient(fields: Fields, grant: string | undefined): void {
  const has = (key: string) => fields.has(key);
  if (has('clientId') !== has('issuer')) {
    fields.fail(has('clientId') ? 'clientId' : 'issuer', '"clientId" and "issuer", where it is registered, go together.');
  }
  for (const key of ['clientSecret', 'privateKey']) {
    if (has(key) && !has('clientId')) fields.fail(key, `"${key}" is that of a client: name it in "clientId".`);
  }
  if (has('clientSecret') && has('privateKey')) fields.fail('privateKey', 'a client has a "clientSecret" or a "privateKey".');
  if (has('keyAlgorithm') && !has('privateKey')) fields.fail('keyAlgorithm', '"keyAlgorithm" is that of a "privateKey".');
  if (has('clientId') && has('clientMetadataUrl')) {
    fields.fail('clientMetadataUrl', '"clientId" and "clientMetadataUrl" are two ways to be known. Keep one of them.');
  }
  if (grant === 'client-credentials' && !has('clientSecret') && !has('privateKey')) {
    fields.fail('grant', 'the grant "client-credentials" needs a "clientId" with its "clientSecret" or "privateKey".');
  }
}

function checkPlaceholders(fields: Fields, key: string, text: string | undefined): void {
  try {
    if (text !== undefined && hasPlaceholder(text)) references(text);
  } catch (error) {
    fields.fail(key, (error as Error).message);
  }
}
