// Commands that fetch what they run: what runs today may be another program tomorrow, unless an exact version is named.

/** Programs that run a package they fetch, and the words that make them do so. */
const FETCHERS: readonly {
  readonly program: RegExp;
  readonly verb?: readonly string[];
  readonly exact: (word: string) => boolean;
}[] = [
  { program: /^(npx|bunx|pnpx)$/, exact: isNpmVersion },
  { program: /^(npm)$/, verb: ['exec', 'x'], exact: isNpmVersion },
  { program: /^(pnpm|yarn)$/, verb: ['dlx'], exact: isNpmVersion },
  { program: /^(bun)$/, verb: ['x'], exact: isNpmVersion },
  { program: /^(deno)$/, verb: ['run', 'x'], exact: isDenoSource },
  { program: /^(uvx)$/, exact: isPythonVersion },
  { program: /^(uv)$/, verb: ['tool'], exact: isPythonVersion },
  { program: /^(pipx)$/, verb: ['run'], exact: isPythonVersion },
  { program: /^(docker|podman|nerdctl)$/, verb: ['run', 'create', 'container'], exact: isImageDigest },
];

/** Options whose value is the package to fetch. */
const PACKAGE_OPTION = /^(?:-p|--package|--from|--spec|--with)(?:=(.*))?$/s;

/**
 * True when the command fetches a program and does not say exactly which. What cannot be told from the words counts as not said.
 * `program` is the name of the command, without its folder and `.cmd` or `.exe`.
 */
export function isFloating(program: string, args: readonly string[]): boolean {
  const { fetcher, rest } = fetchedBy(program, args) ?? {};
  if (fetcher === undefined || rest === undefined) return false;
  if (fetcher.exact === isImageDigest) return !rest.some(isImageDigest);
  if (fetcher.exact === isDenoSource) return !rest.some(isDenoSource);
  const named = packages(rest);
  return named.length === 0 || !named.every(fetcher.exact);
}

/** The names of packages that npm and its like take out of the folder they stand in, where they are there, and do not fetch then. */
export function localPackages(program: string, args: readonly string[]): readonly string[] {
  const { fetcher, rest = [] } = fetchedBy(program, args) ?? {};
  return fetcher?.exact === isNpmVersion ? packages(rest).map((word) => word.replace(/(?<=.)@[^/]*$/, '')) : [];
}

/** How the command fetches what it runs, and the words behind that; undefined when it fetches nothing. */
function fetchedBy(program: string, args: readonly string[]) {
  const fetcher = FETCHERS.find((each) => each.program.test(program));
  if (fetcher?.verb === undefined) return fetcher && { fetcher, rest: args };
  const first = args.findIndex((arg) => !arg.startsWith('-'));
  return fetcher.verb.includes(args[first] ?? '') ? { fetcher, rest: args.slice(first + 1) } : undefined;
}

/** The packages that are named: by options, or else by the first word. */
function packages(args: readonly string[]): readonly string[] {
  const given: string[] = [];
  args.forEach((arg, at) => {
    const option = PACKAGE_OPTION.exec(arg);
    if (option !== null) given.push(option[1] ?? args[at + 1] ?? '');
  });
  if (given.length > 0) return given;
  const word = args.find((arg) => !arg.startsWith('-') && arg !== 'run');
  return word === undefined ? [] : [word];
}

function isNpmVersion(word: string): boolean {
  return /^(@[^/@]+\/)?[^/@]+@\d+\.\d+\.\d+(-[\w.-]+)?(\+[\w.-]+)?$/.test(word);
}

function isPythonVersion(word: string): boolean {
  return /^[\w.[\],-]+(==|@)\d+(\.\d+)+\w*$/.test(word);
}

function isImageDigest(word: string): boolean {
  return /@sha256:[0-9a-f]{64}$/.test(word);
}

/** A file of this machine, or a package of a registry with its version. */
function isDenoSource(word: string): boolean {
  return /^(npm|jsr):(@[^/@]+\/)?[^/@]+@\d+\.\d+\.\d+/.test(word) || /^[./].*\.[cm]?[jt]s$/.test(word);
}
