// A command with its arguments, for people to recognise it by: never to be run, and without the secrets that arguments may hold.

const SECRET_NAME = /(?:key|token|secret|passw|auth|credential|cookie|bearer)/i;
const LONGEST = 200;

/** One line such as `npx -y some-server --api-key ***`, at most 200 characters. */
export function commandLine(command: string, args: readonly string[]): string {
  let hideNext = false;
  const shown = args.map((argument) => {
    const hide = hideNext;
    const name = /^-{1,2}([\w.-]+)(=)?/.exec(argument);
    hideNext = name !== null && name[2] === undefined && SECRET_NAME.test(argument);
    if (hide && name === null) return '***';
    return argument
      .replace(/^([^=]*)=.*$/s, (whole, before: string) => (SECRET_NAME.test(before) ? `${before}=***` : whole))
      .replace(/(:\/\/)[^/@\s]*@/, '$1***@');
  });
  const line = [command, ...shown].map((word) => (/^[\w@%+=:,./*-]+$/.test(word) ? word : JSON.stringify(word))).join(' ');
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line;
}
