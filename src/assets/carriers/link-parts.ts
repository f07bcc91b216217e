import { endOfPath, trimLikeUrlParser } from '../location.js';
import { searchOnce } from '../copied-text.js';

/** A parameter of a link. Only the values that may be links are decoded, because decoding takes most of the time. */
export interface Parameter {
  readonly name: string;
  readonly sent: string;
}

export const parametersIn = (query: string): readonly Parameter[] => {
  const isEncoded = hasEscape(query);
  return trimLikeUrlParser(query)
    .split('&')
    .map((sent) => {
      const end = sent.indexOf('=');
      const name = end === -1 ? sent : sent.slice(0, end);
      return { name: isEncoded ? decodeParameter(`=${name}`) : name, sent };
    });
};

/** An escape of a parameter: a percent code, or a plus sign for a blank. */
const hasEscape = searchOnce(/%[\da-f]{2}|\+/i);
/** Decodes the value of a parameter like `URLSearchParams`. */
export const decodeParameter = (sent: string): string => {
  const value = sent.slice(sent.indexOf('=') + 1);
  return hasEscape(value) ? new URLSearchParams(`=${value}`).get('')! : value.toWellFormed();
};

/** The parts of a link after its host. */
export interface Parts {
  readonly path: string;
  /** Query and fragment. */
  readonly end: string;
  /** The parameters of the query, and of the fragment. */
  readonly query: () => readonly Parameter[];
  readonly fragment: () => readonly Parameter[];
}

const NO_PARAMETERS: readonly Parameter[] = [];
const once = <T>(compute: () => T): (() => T) => {
  let result: T | undefined;
  return () => (result ??= compute());
};

/** A line break, or a segment of one or two dots. */
const HAS_UNRESOLVED = /[\t\n\r]|(?:[/\\]|^)(?:\.|%2e){1,2}(?=[/\\]|$)/i;

/** Resolves what a browser resolves in a path before it sends it. The path never becomes longer. */
const resolved = (path: string): string => {
  if (!HAS_UNRESOLVED.test(path)) return path;
  const kept: string[] = [];
  for (const segment of path.replace(/[\t\n\r]+/g, '').split(/[/\\]/)) {
    const dots = segment.replace(/%2e/gi, '.');
    if (dots !== '.' && dots !== '..') kept.push(segment);
    else if (dots === '..' && kept.length > 1) kept.pop();
  }
  return kept.join('/');
};

/** @param rest path, query and fragment, as in `Location` */
export const partsOf = (rest: string): Parts => {
  const start = endOfPath(rest);
  const end = rest.slice(start);
  const hash = end.indexOf('#');
  return {
    path: resolved(rest.slice(0, start)),
    end,
    query: once(() =>
      end.startsWith('?') ? parametersIn(hash === -1 ? end.slice(1) : end.slice(1, hash)) : NO_PARAMETERS,
    ),
    fragment: once(() => (hash === -1 ? NO_PARAMETERS : parametersIn(end.slice(hash + 1).replace(/^[^?]*\?/, '')))),
  };
};
