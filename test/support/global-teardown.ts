import { once } from 'node:events';
import { rmSync } from 'node:fs';

export default async (): Promise<void> => {
  if (globalThis.testReferenceFolder) rmSync(globalThis.testReferenceFolder, { recursive: true, force: true });
  const holder = globalThis.testDatabaseHolder;
  if (!holder || holder.exitCode !== null) return;
  const stopped = once(holder.stdout!, 'end');
  holder.stdout!.resume();
  holder.stdin!.end();
  await stopped;
  // The process needs ten more seconds to delete the databases; the run does not wait for it.
  holder.unref();
};
