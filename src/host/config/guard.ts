// What a project's files may not do, because a repository's author wrote them and not the user.

const SECRET = /KEY|TOKEN|SECRET|PASSW|PASSPHRASE|AUTH|CREDENTIAL|COOKIE|(?:^|_)(?:PAT|PWD|PASS)(?:_|$)/i;

/** True when a variable of that name likely holds a credential; a project may not send it to a URL of its choice. */
export function isSecretName(name: string): boolean {
  return SECRET.test(name);
}

const LOADERS = new Set([
  ...['NODE_OPTIONS', 'NODE_PATH', 'PYTHONPATH', 'PYTHONHOME', 'PYTHONSTARTUP', 'BASH_ENV', 'ENV', 'SHELLOPTS', 'BASHOPTS'],
  ...[
    'PYTHONUSERBASE',
    'PYTHONBREAKPOINT',
    'PERL5OPT',
    'PERL5LIB',
    'PERLLIB',
    'PERL5DB',
    'RUBYOPT',
    'RUBYLIB',
    'GEM_HOME',
    'GEM_PATH',
  ],
  ...[
    'BUNDLE_GEMFILE',
    'JAVA_TOOL_OPTIONS',
    '_JAVA_OPTIONS',
    'JDK_JAVA_OPTIONS',
    'CLASSPATH',
    'DOTNET_STARTUP_HOOKS',
    'LUA_INIT',
  ],
  ...['LUA_PATH', 'LUA_CPATH', 'PHPRC', 'PHP_INI_SCAN_DIR', 'ZDOTDIR', 'GCONV_PATH'],
  // Where packages are fetched from.
  ...[
    'UV_INDEX',
    'UV_INDEX_URL',
    'UV_DEFAULT_INDEX',
    'UV_EXTRA_INDEX_URL',
    'UV_FIND_LINKS',
    'PIP_INDEX_URL',
    'PIP_EXTRA_INDEX_URL',
  ],
  ...['PIP_FIND_LINKS', 'BUN_CONFIG_REGISTRY', 'YARN_NPM_REGISTRY_SERVER', 'COREPACK_NPM_REGISTRY', 'DOCKER_HOST'],
  ...['SSH_AUTH_SOCK', 'PATH', 'HOME', 'USERPROFILE'],
]);
const LOADER_PREFIX = /^(?:LD_|DYLD_|GIT_|NPM_CONFIG_)/;

/** True when a variable of that name makes a harmless command run other code, or hands it the user's keys. */
export function isLoaderVariable(name: string): boolean {
  const upper = name.toUpperCase();
  return LOADERS.has(upper) || LOADER_PREFIX.test(upper);
}
