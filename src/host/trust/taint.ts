// What a run has read, and from whom: marks that can only grow. No text is looked at and nothing is judged but where it came from.
import type { ToolAnnotations } from '../../protocol/index.ts';

/** The first result of its kind that a run has read from a server. Plain JSON; a type, so that it can stand where JSON does. */
export type TaintMark = {
  /** The configured server's name. */
  readonly server: string;
  /** The tool, `resource:URI` or `prompt:NAME`. */
  readonly from: string;
  /** True when what it gave may be written by anybody. */
  readonly untrusted: boolean;
  /** Whom what it gave must not reach unasked: every server, every other one, or nobody. */
  readonly private: 'to-all' | 'to-others' | 'no';
  /** The digest of the call that gave it. */
  readonly digest: string;
};

/** What is known of a result when it comes, whatever it says. */
export interface ReadFacts {
  readonly server: string;
  readonly from: string;
  /** The call that gave it. */
  readonly call: { readonly digest: string };
  /** What the user said about the server. `private` is undefined where the user said nothing. */
  readonly settings: { readonly trusted: boolean; readonly private?: boolean };
  /** What the server says of the tool; absent for what is no tool. */
  readonly annotations?: ToolAnnotations | undefined;
}

export interface Taint {
  /** The marks so far, in the order they came. */
  readonly of: () => readonly TaintMark[];
  /** Marks the run; to be called before anybody reads the result, an error too. */
  readonly mark: (facts: ReadFacts) => void;
}

/** A run that has read nothing. */
export function createTaint(): Taint {
  let marks: readonly TaintMark[] = Object.freeze([]);
  return {
    of: () => marks,
    mark({ server, from, call, settings, annotations }) {
      const untrusted = !settings.trusted || annotations?.openWorldHint !== false;
      const whom = settings.private === undefined ? 'to-others' : settings.private ? 'to-all' : 'no';
      if (!untrusted && whom === 'no') return;
      if (marks.some((mark) => mark.server === server && mark.untrusted === untrusted && mark.private === whom)) return;
      const mark = Object.freeze<TaintMark>({ server, from, digest: call.digest, untrusted, private: whom });
      marks = Object.freeze([...marks, mark]);
    },
  };
}

/** The marks of each kind that count for a call to `server`, in the order they came. */
export function taintFor(
  marks: readonly TaintMark[],
  server: string,
): { readonly untrusted: readonly TaintMark[]; readonly private: readonly TaintMark[] } {
  return {
    untrusted: marks.filter(({ untrusted }) => untrusted),
    private: marks.filter((mark) => isKeptFrom(mark, server)),
  };
}

/** True when what it gave must not reach `server` unasked. */
export function isKeptFrom(mark: TaintMark, server: string): boolean {
  return mark.private === 'to-all' || (mark.private === 'to-others' && mark.server !== server);
}
