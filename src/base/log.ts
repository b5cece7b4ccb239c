// Diagnostics as values: whoever wires Parley together decides where they go.

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Takes one diagnostic. `facts` are safe to show; text that came from a peer is marked by its key `untrusted`. */
export type Log = (level: LogLevel, message: string, facts?: Readonly<Record<string, unknown>>) => void;

export const silent: Log = () => {};
