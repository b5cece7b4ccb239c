// The engine that matches regular expressions in linear time. A door of its own: it is loaded with the first expression, which most
// programs never meet, since loading it takes a fifth of the time that Node takes to start.
import { createRequire } from 'node:module';
import type * as Re2 from 're2js';

let loaded: typeof Re2 | undefined;

/** The engine, from now on ready. */
export function re2(): typeof Re2.RE2JS {
  loaded ??= createRequire(import.meta.url)('re2js') as typeof Re2;
  return loaded.RE2JS;
}
