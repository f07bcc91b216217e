import { once } from 'node:events';

export default async (): Promise<void> => {
  const holder = globalThis.testDatabaseHolder;
  if (!holder || holder.exitCode !== null) return;
  const ended = once(holder, 'exit');
  holder.stdin?.end();
  await ended;
};
