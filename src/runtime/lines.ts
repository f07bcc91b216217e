import type { Readable } from 'node:stream';

const NEWLINE = 0x0a;

/**
 * Yields each line of a stream without its line break. Yields undefined for a line that is too long, and does not keep
 * the text of such a line in memory.
 */
export const linesOf = async function* (stream: Readable, maxBytes: number): AsyncGenerator<Buffer | undefined> {
  let pieces: Buffer[] = [];
  let length = 0;
  const add = (piece: Buffer): void => {
    length += piece.length;
    if (length > maxBytes) pieces = [];
    else pieces.push(piece);
  };
  const take = (): Buffer | undefined => {
    const line = length > maxBytes ? undefined : Buffer.concat(pieces);
    [pieces, length] = [[], 0];
    return line;
  };
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      add(chunk.subarray(from, end));
      yield take();
      from = end + 1;
    }
    add(chunk.subarray(from));
  }
  if (length > 0) yield take();
};
