// What a project's files may not do, because a repository's author wrote them and not the user.

const SECRET = /KEY|TOKEN|SECRET|PASSW|PASSPHRASE|AUTH|CREDENTIAL|COOKIE|(?:^|_)(?:PAT|PWD|PASS)(?:_|$)/i;

/** True when a variable of that name likely holds a credential; a project may not send it to a URL of its choice. */
export function isSecretName(name: string): boolean {
  return SECRET.test(name);
}

const LOADERS = new Set([
  ...['NODE_OPTIONS', 'NODE_PATH', 'PYTHONPATH', 'PYTHONHOME', 'PYTHONSTARTUP', 'BASH_ENV', 'ENV', 'SHELLOPTS', 'BASHOPTS'],
  ...['PERL5OPT', 'PERL5LIB', 'RUBYOPT', 'RUBYLIB', 'JAVA_TOOL_OPTIONS', '_JAVA_OPTIONS', 'JDK_JAVA_OPTIONS'],
  ...['SSH_AUTH_SOCK', 'PATH', 'HOME', 'USERPROFILE'],
]);
const LOADER_PREFIX = /^(?:LD_|DYLD_|GIT_|NPM_CONFIG_)/;

/** True when a variable of that name makes a harmless command run other code, or hands it the user's keys. */
export function isLoaderVariable(name: string): boolean {
  const upper = name.toUpperCase();
  return LOADERS.has(upper) || LOADER_PREFIX.test(upper);
}
