/**
 * Parses a URL. `URL.canParse` of Node 20 rejects some valid URLs once it has been called a few thousand times, because
 * V8's fast call reads Latin-1 text (`https://bücher.example`) as UTF-8.
 * @returns undefined if the text is not a URL
 */
export const readUrl = (text: string): URL | undefined => {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
};
