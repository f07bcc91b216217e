import { createReadStream } from 'node:fs';
import { Invalid } from '../errors.js';

/** Longer than any key or connection string. */
const MAX_BYTES = 4_096;

/**
 * Reads a secret that is not in the command line, which every process of the machine can see.
 * @param file `-` is standard input
 * @param what names it in the errors, which never repeat it
 * @throws Invalid where it cannot be read or is not one line of visible ASCII
 */
export const readSecret = async (file: string, what: string): Promise<string> => {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    const stream = file === '-' ? process.stdin : createReadStream(file, { end: MAX_BYTES });
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_BYTES) break;
    }
  } catch (error) {
    throw new Invalid(`${what} cannot be read from ${file}: ${(error as Error).message}`);
  }
  return oneToken(Buffer.concat(chunks).toString(), file === '-' ? 'standard input' : file, what);
};

/**
 * @param from names the place in the error
 * @throws Invalid where the text is not one line of visible ASCII
 */
export const oneToken = (text: string, from: string, what: string): string => {
  const secret = text.trim();
  if (secret.length <= MAX_BYTES && /^[\x21-\x7e]+$/.test(secret)) return secret;
  throw new Invalid(`${from} must hold ${what}, alone on one line`);
};
