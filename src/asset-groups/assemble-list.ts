import { setImmediate as nextTurn } from 'node:timers/promises';

/** About a millisecond's work each, where the tail has something to say of it. */
export const GROUPS_PER_PAGE = 1_000;

/** Groups in order of number, up to and with `last`: as the items of a JSON array, without its brackets. */
export interface Page {
  readonly last: number;
  readonly json: string;
}

interface Group {
  readonly id: number;
  readonly name: string;
  readonly assetCount: number;
}

/** One page with what the tail said of its groups, and of those whose numbers lie before its last and after the page before. */
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
 * `{ groups: [{ id, name, assetCount }] }` by the model's pages, overruled by what the tail after them said. Other
 * requests have their turn between two pages.
 * @param assets how many assets are in groups that the pages do not hold
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
