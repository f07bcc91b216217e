import type { Work } from '../flow/time-slices.js';

/** Equals `JSON.stringify`, one item at a time. */
export function* arrayJson(items: readonly unknown[]): Work<string> {
  const texts: string[] = [];
  for (const item of items) {
    texts.push(JSON.stringify(item));
    yield;
  }
  return `[${texts.join(',')}]`;
}
