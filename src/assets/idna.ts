import { createRequire } from 'node:module';
import { memoizeLastTwo } from './text/memoize.js';

interface Tr46 {
  toASCII(name: string, options: Readonly<Record<string, boolean>>): string | null;
}

/**
 * Options for "domain to ASCII" of the WHATWG URL standard with `beStrict` false. The bidirectional rules are not
 * checked, because some URL parsers, such as the URL parser of Node 20, accept names that violate these rules.
 */
const OPTIONS = { checkJoiners: true };

const require = createRequire(import.meta.url);
/**
 * The module is loaded at the first use, because its tables take 5 MB and many processes never parse a non-ASCII name.
 */
let tr46: Tr46 | undefined;

/**
 * Converts a non-ASCII name to ASCII. Keys must not depend on the version of Node, so this function is used instead of
 * the URL parser of Node, whose results differ between versions.
 * @param name a short name: the time grows with the number of labels and the square of their length
 * @returns undefined if the name is not valid
 */
export const nameToAscii = memoizeLastTwo((name): string | undefined => {
  tr46 ??= require('tr46') as Tr46;
  return tr46.toASCII(name, OPTIONS) || undefined;
});
