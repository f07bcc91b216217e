import type { Work } from '../../flow/turns.js';
import { entityTag } from '../../http/responses/send-snapshot.js';
import type { Collection, ObjectRow } from './objects.js';
import { parseObject } from './objects-sql.js';

/** What a page says of its objects. */
export interface PageForm {
  /** The operation, whose pages differ from those of other operations. */
  readonly name: string;
  /** The name of the list in a page. */
  readonly list: 'objects' | 'versions';
  /** Writes the entry of an object as JSON. */
  readonly write: (row: ObjectRow, collection: Collection) => string;
}

/** `place` is what `token` names, and does not differ between responses of the same content. */
export interface Next {
  readonly token: string;
  readonly place: string;
}

/** A page as JSON. */
export interface WrittenPage {
  readonly text: string;
  readonly tag: string;
  /** When the first and the last object were added, in ms. Undefined: the page has no objects. */
  readonly added: { readonly first: number; readonly last: number } | undefined;
}

/**
 * Writes a page. Yields after each object, because thousands of objects take longer than a turn of the event loop.
 * @param lines the objects as `NEXT_OBJECTS` reads them
 * @param next undefined: there are no more objects
 */
export function* writePage(
  lines: readonly string[],
  collection: Collection,
  { list, write }: PageForm,
  next: Next | undefined,
): Work<WrittenPage> {
  const entries: string[] = [];
  let added: WrittenPage['added'];
  for (const line of lines) {
    const row = parseObject(collection.kind, line);
    entries.push(write(row, collection));
    added = { first: added?.first ?? row.addedAt, last: row.addedAt };
    yield;
  }
  const texts = `"${list}":[${entries.join(',')}]`;
  const more = `"more":${next !== undefined}`;
  // `next` differs in each response. The place that it names does not, and a cached `next` must not outlive it.
  const tag = entityTag(`${more}${next?.place ?? ''}${texts}`);
  return { text: `{${more},${next === undefined ? '' : `"next":${JSON.stringify(next.token)},`}${texts}}`, tag, added };
}
