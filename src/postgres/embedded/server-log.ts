import { existsSync } from 'node:fs';
import { open, truncate } from 'node:fs/promises';

const MAX_BYTES = 4 * 1024 * 1024;
const TAIL_BYTES = 64 * 1024;

const lastBytes = async (file: string): Promise<string> => {
  const handle = await open(file, 'r');
  try {
    const { size } = await handle.stat();
    const length = Math.min(size, TAIL_BYTES);
    const { buffer } = await handle.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.toString('utf8');
  } finally {
    await handle.close();
  }
};

/** The last lines of the server's log, for error messages. */
export const lastLines = async (file: string, count = 10): Promise<string> => {
  if (!existsSync(file)) return '(the log is empty)';
  return (await lastBytes(file)).trimEnd().split('\n').slice(-count).join('\n');
};

/** Trims the log to its last lines above 4 MiB. The server appends, so it may be running. */
export const trimLog = async (file: string): Promise<void> => {
  if (!existsSync(file)) return;
  const handle = await open(file, 'a');
  try {
    if ((await handle.stat()).size < MAX_BYTES) return;
    const kept = await lastBytes(file);
    await truncate(file);
    await handle.appendFile(kept);
  } finally {
    await handle.close();
  }
};
