// Reading a rule's text from left to right.

export interface Cursor {
  readonly rest: string;
  readonly done: boolean;
  /** Takes what the sticky expression covers here, with white space before it, or gives undefined. */
  take(expression: RegExp): RegExpExecArray | undefined;
  /** Takes text up to a `,`, `|` or `)` that no `(` before it belongs to; without white space at its ends. */
  takeBare(): string;
}

/** A cursor at the beginning of the text. */
export function createCursor(text: string): Cursor {
  let at = 0;
  return {
    get rest() {
      return text.slice(at).trim();
    },
    get done() {
      return text.slice(at).trim() === '';
    },
    take(expression) {
      const sticky = new RegExp(String.raw`\s*(?:${expression.source})`, `${expression.flags.replace('y', '')}y`);
      sticky.lastIndex = at;
      const found = sticky.exec(text) ?? undefined;
      if (found !== undefined) at = sticky.lastIndex;
      return found;
    },
    takeBare() {
      const from = at;
      for (let depth = 0; at < text.length; at++) {
        const char = text.charAt(at);
        if (depth === 0 && /[,|)]/.test(char)) break;
        if (char === '(') depth++;
        else if (char === ')') depth--;
      }
      return text.slice(from, at).trim();
    },
  };
}

/** A JSON text, as an expression. */
export const QUOTED = /"(?:[^"\\]|\\.)*"/;
