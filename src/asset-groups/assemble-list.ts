import { setImmediate as nextTurn } from 'node:timers/promises';

/** A page takes about a millisecond if the tail changes it. */
export const GROUPS_PER_PAGE = 1_000;

/** Groups in order of id up to and including `last`, as the items of a JSON array without its brackets. */
export interface Page {
  readonly last: number;
  readonly json: string;
}

interface Group {
  readonly id: number;
  readonly name: string;
  readonly assetCount: number;
}

/**
 * A page after applying the tail's changes to its groups, and to those with ids between the previous page and its last.
 */
const overrule = (
  json: string,
  said: readonly (readonly [id: number, name: string | undefined])[],
  assets: ReadonlyMap<number, number>,
): string => {
  const groups = new Map((JSON.parse(`[${json}]`) as Group[]).map((group) => [group.id, group]));
  for (const [id, name] of said) {
    if (name === undefined) groups.delete(id);
    else groups.set(id, { id, name, assetCount: groups.get(id)?.assetCount ?? assets.get(id) ?? 0 });
  }
  const sorted = [...groups.values()].sort((a, b) => a.id - b.id);
  return JSON.stringify(sorted).slice(1, -1);
};

/**
 * Builds `{ groups: [{ id, name, assetCount }] }` from the model's pages and the tail's changes. Other requests are
 * served between two pages.
 * @param assets asset counts of groups that the pages do not contain
 */
export const assembleList = async (
  { pages, assets }: { readonly pages: readonly Page[]; readonly assets: ReadonlyMap<number, number> },
  said: ReadonlyMap<number, string | undefined>,
): Promise<Buffer> => {
  const rest = [...said].sort(([a], [b]) => a - b);
  const pieces: Buffer[] = [];
  let next = 0;
  const add = async (json: string, end: number): Promise<void> => {
    const own = rest.slice(next, end);
    next = end;
    const items = own.length === 0 ? json : overrule(json, own, assets);
    if (items === '') return;
    pieces.push(Buffer.from(pieces.length === 0 ? items : `,${items}`));
    await nextTurn();
  };
  for (const { last, json } of pages) {
    let end = next;
    while (end < rest.length && rest[end]![0] <= last) end += 1;
    await add(json, end);
  }
  while (next < rest.length) await add('', Math.min(next + GROUPS_PER_PAGE, rest.length));
  return Buffer.concat([Buffer.from('{"groups":['), ...pieces, Buffer.from(']}')]);
};
