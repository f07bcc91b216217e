import { throttle } from '../flow/background/throttle.js';

/** Returns the path of a URL. The query is left out of logs, because it may contain a key. */
export const pathOf = (url: string): string => /^[^?#]*/.exec(url)![0];

/** Describes a request in one log line. Control characters in the path are removed. */
export const requestLine = (
  { method, url }: { readonly method: string; readonly url: string },
  outcome: string,
  id: string,
  why: string,
): string => {
  const path = JSON.stringify(pathOf(url).replace(/\p{Cc}/gu, ' '));
  return `${method} ${path} ${outcome}, request ${id}: ${why}`;
};

/** Writes at most one line per second, with the number of lines left out before it. */
export const throttled = (write: (line: string) => void): ((line: string) => void) =>
  throttle((line, count) => write(count === 1 ? line : `${line} (and ${count - 1} more before it)`));
