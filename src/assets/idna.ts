import { createRequire } from 'node:module';
import { remembered } from './text/remembered.js';

interface Tr46 {
  toASCII(name: string, options: Readonly<Record<string, boolean>>): string | null;
}

/**
 * Domain to ASCII of the WHATWG URL standard, without `beStrict`. The rules for names of both directions are left out,
 * because parsers in use (that of Node 20, for one) open names that break them.
 */
const OPTIONS = { checkJoiners: true };

const require = createRequire(import.meta.url);
/** Loaded at the first use: few processes read a name beyond ASCII, and its tables take 5 MB. */
let tr46: Tr46 | undefined;

/**
 * Converts a name with letters beyond ASCII to ASCII, in the same way on every version of Node: the tables of the
 * platform's URL parser differ from version to version, but a key must not.
 * @param name short, because the time grows with the number of labels and the square of their letters
 * @returns undefined if the name is not valid
 */
export const nameToAscii = remembered((name): string | undefined => {
  tr46 ??= require('tr46') as Tr46;
  return tr46.toASCII(name, OPTIONS) || undefined;
});
