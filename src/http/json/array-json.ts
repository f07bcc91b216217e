import type { Work } from '../../flow/time-slices.js';

/** Returns the same text as `JSON.stringify`, but yields after each item. */
export function* arrayJson(items: readonly unknown[]): Work<string> {
  const texts: string[] = [];
  for (const item of items) {
    texts.push(JSON.stringify(item));
    yield;
  }
  return `[${texts.join(',')}]`;
}
