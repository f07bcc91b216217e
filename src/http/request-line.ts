import { throttle } from '../flow/background/throttle.js';

/** A URL without its query, into which somebody may have put a key. */
export const pathOf = (url: string): string => /^[^?#]*/.exec(url)![0];

/** What the log says of a request: one line, whatever was sent. */
export const requestLine = (
  { method, url }: { readonly method: string; readonly url: string },
  outcome: string,
  id: string,
  why: string,
): string => {
  const path = JSON.stringify(pathOf(url).replace(/\p{Cc}/gu, ' '));
  return `${method} ${path} ${outcome}, request ${id}: ${why}`;
};

/** Writes one line a second, with the number of those left out before it. */
export const throttled = (write: (line: string) => void): ((line: string) => void) =>
  throttle((line, count) => write(count === 1 ? line : `${line} (and ${count - 1} more before it)`));
