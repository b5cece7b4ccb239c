// Cleans up after this process however it ends, also when it is killed: a shell that waits for the end of its input and then
// ends the servers that are left. It runs only while servers do, and knows them by more than a number that may be another's.
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { withoutStrays } from './descriptors.ts';

/**
 * Arguments: the beginning of the mark that all our servers carry, and where the processes are listed (/proc, on Linux).
 * Input: `+ N`, a server is about to start; `= N PID START`, it has; `- N`, it is over and nothing of it is left.
 * What is left at the end of the input is asked to end, and after two seconds is killed.
 */
export const REAPER_SCRIPT: string = `
trap '' HUP INT TERM
mark=$1 proc=$2 list=' '

drop() {
  rest=' '
  for each in $list; do [ "\${each%%:*}" = "$1" ] || rest="$rest$each "; done
  list=$rest
}

# What ps says of a process that never changes, in one word.
birth() {
  set -- $(ps -o lstart= -p "$1")
  [ $# -gt 0 ] && echo "$*" | tr ' :' '__'
}

while read -r word number pid start; do
  drop "$number"
  case $word in
    +) list="$list$number:: " ;;
    =) list="$list$number:$pid:\${start:-$(birth "$pid")} " ;;
  esac
done
[ "$list" = ' ' ] && exit

# All that runs, as ID:PARENT:SESSION:START. A name may hold a line break and anything else, but not as many words as follow it.
read_table() {
  table='' line_break='
'
  lines=$(grep -sH '' "$proc"/[0-9]*/stat)
  set -f
  IFS=$line_break
  for line in $lines; do
    IFS=' '
    id=\${line#"$proc"/}
    set -- \${line##*) }
    [ $# -lt 40 ] && continue
    case $1 in Z | X) continue ;; esac
    table="$table \${id%%/*}:$2:$4:\${20}"
  done
  unset IFS
  set +f
}

# Ids of all that is left: what carries the mark, the processes we were told of while they are the same, and whatever descends
# from one of these or shares its session. What was found is known from then on, also when what it was found by ends first.
find_on_linux() {
  kin=' ' sessions=' '
  # Variables end with a zero byte, after which not every grep goes on by itself.
  for file in $(grep -lszF "$mark" "$proc"/[0-9]*/environ); do
    file=\${file%/environ}
    kin="$kin\${file##*/} "
  done
  read_table
  while :; do
    before=$kin$sessions
    for row in $table; do
      id=\${row%%:*} start=\${row##*:} row=\${row#*:}
      parent=\${row%%:*} row=\${row#*:}
      session=\${row%%:*} ours=
      case $list in *":$id:$start "*) ours=yes ;; esac
      case $kin in *" $id "* | *" $parent "*) ours=yes ;; esac
      case $sessions in *" $session "*) ours=yes ;; esac
      [ -n "$ours" ] || continue
      case $kin in *" $id "*) ;; *) kin="$kin$id " ;; esac
      case $list in *":$id:$start "*) ;; *) list="$list:$id:$start " ;; esac
      # 0 stands for any session outside of this container.
      case " 0 $sessions" in *" $session "*) ;; *) sessions="$sessions$session " ;; esac
    done
    [ "$before" = "$kin$sessions" ] && break
  done
}

# Elsewhere: the groups whose leader is still the process that we were told of.
find_groups() {
  kin=' '
  for each in $list; do
    pid=\${each#*:} start=\${each##*:} pid=\${pid%%:*}
    [ -n "$pid" ] && [ -n "$start" ] && [ "$(birth "$pid")" = "$start" ] && kin="$kin-$pid "
  done
}

find_kin() { if [ -r "$proc/self/stat" ]; then find_on_linux; else find_groups; fi; }

find_kin
kill -s TERM -- $kin
for round in 1 2 3 4 5 6 7 8; do
  [ "$kin" = ' ' ] && exit
  sleep 0.25 || sleep 1
  find_kin
done
for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  [ "$kin" = ' ' ] && exit
  kill -s KILL -- $kin
  find_kin
done
`;

/** Times it is started again when somebody ends it. */
const MAX_STARTS = 5;

export class Reaper {
  readonly #mark: string;
  /** The last line said of each server that is not over. */
  readonly #lines = new Map<number, string>();
  #shell: ChildProcessByStdio<Writable, null, null> | undefined;
  #starts = 0;

  /** `mark`: what the environment of every server holds. */
  constructor(mark: string) {
    this.#mark = mark;
  }

  /** A server is about to be started. Returns once the reaper surely has heard it. */
  expect(server: number): void {
    this.#tell(server, `+ ${String(server)}`);
  }

  /** The server's first process. `startedAt` is its start as /proc has it, where there is one. */
  meet(server: number, pid: number, startedAt: number | undefined): void {
    this.#tell(server, `= ${String(server)} ${String(pid)} ${String(startedAt ?? '')}`);
  }

  /** The server is over. With the last one the reaper ends too. */
  forget(server: number): void {
    if (!this.#lines.delete(server)) return;
    this.#shell?.stdin.write(`- ${String(server)}\n`);
    if (this.#lines.size > 0) return;
    this.#shell?.stdin.end();
    this.#shell = undefined;
  }

  #tell(server: number, line: string): void {
    // Windows ends what we started with us by itself, as far as it can.
    if (process.platform === 'win32') return;
    this.#lines.set(server, line);
    if (this.#shell === undefined) this.#start();
    else this.#shell.stdin.write(`${line}\n`);
  }

  #start(): void {
    if (this.#starts >= MAX_STARTS) return;
    const begin = (more: readonly (number | 'ignore')[]) =>
      spawn('/bin/sh', ['-c', REAPER_SCRIPT, 'parley-reaper', this.#mark, '/proc'], {
        stdio: ['pipe', 'ignore', 'ignore', ...more],
        // Nothing that ends our terminal or our group reaches it, and it keeps no folder busy.
        detached: true,
        cwd: '/',
        env: { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C' },
      }) as ChildProcessByStdio<Writable, null, null>;
    const shell = withoutStrays(begin);
    this.#shell = shell;
    shell.stdin.on('error', () => {
      // It is gone, which is noticed below.
    });
    const gone = () => {
      if (this.#shell !== shell) return;
      this.#shell = undefined;
      this.#starts++;
      if (this.#lines.size > 0) this.#start();
    };
    shell.once('error', gone);
    shell.once('exit', gone);
    // It must not keep us running: our end is what it waits for.
    shell.unref();
    if (shell.stdin instanceof Socket) shell.stdin.unref();
    for (const line of this.#lines.values()) shell.stdin.write(`${line}\n`);
  }
}
