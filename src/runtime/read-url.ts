/**
 * `URL.canParse` of Node 20 says no to some addresses once it has been called some thousand times: V8's fast call takes
 * Latin-1 (`https://bücher.example`) for UTF-8.
 * @returns undefined if it is no URL
 */
export const readUrl = (text: string): URL | undefined => {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
};
