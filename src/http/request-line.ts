const LINE_EVERY_MS = 1_000;

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

/** Passes on one line a second, with the number of those left out before it: clients can cause as many as they like. */
export const throttled = (write: (line: string) => void): ((line: string) => void) => {
  let nextAt = 0;
  let leftOut = 0;
  return (line) => {
    const now = performance.now();
    if (now < nextAt) return void leftOut++;
    write(leftOut === 0 ? line : `${line} (and ${leftOut} more before it)`);
    nextAt = now + LINE_EVERY_MS;
    leftOut = 0;
  };
};
