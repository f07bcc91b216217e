import { createReadStream } from 'node:fs';
import { Invalid } from '../../errors.js';

/** Maximum size of a secret, which is more than any key or connection string needs. */
const MAX_BYTES = 4_096;

/**
 * Reads a secret from a file. Secrets are not passed on the command line, which every process on the machine can see.
 * @param file the path; `-` is standard input
 * @param what the name of the secret in error messages, which never contain the secret itself
 * @throws Invalid if the file cannot be read, or its text is not one line of visible ASCII
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
  return requireToken(Buffer.concat(chunks).toString(), file === '-' ? 'standard input' : file, what);
};

/**
 * @param from the name of the source in error messages
 * @throws Invalid if the text is not one line of visible ASCII
 */
export const requireToken = (text: string, from: string, what: string): string => {
  const secret = text.trim();
  if (secret.length <= MAX_BYTES && /^[\x21-\x7e]+$/.test(secret)) return secret;
  throw new Invalid(`${from} must contain only ${what}, on one line`);
};
