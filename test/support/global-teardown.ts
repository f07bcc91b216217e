import { once } from 'node:events';
import { rmSync } from 'node:fs';

export default async (): Promise<void> => {
  if (globalThis.testReferenceFolder) rmSync(globalThis.testReferenceFolder, { recursive: true, force: true });
  const holder = globalThis.testDatabaseHolder;
  if (!holder || holder.exitCode !== null) return;
  const ended = once(holder, 'exit');
  holder.stdin?.end();
  await ended;
};
