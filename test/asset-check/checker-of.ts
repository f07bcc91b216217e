import type { Pool } from 'pg';
import type { AssetCheckResponse } from '../../src/asset-check/asset-check.dto.js';
import { AssetChecker } from '../../src/asset-check/asset-checker.js';
import { type Guard, Guards } from '../../src/asset-check/lists/guards.js';
import { HostingSuffixes, shippedSuffixes } from '../../src/asset-check/lists/hosting-suffixes.js';
import type { ListSource } from '../../src/asset-check/lists/list-source.js';
import { matchList } from '../../src/asset-check/lists/match-list.js';
import { type Format, parseList } from '../../src/asset-check/lists/parse-list.js';
import { OwnStatuses } from '../../src/asset-check/own/own-statuses.js';
import type { Source } from '../../src/asset-check/sources/sources.js';
import { assetKey } from '../../src/assets/asset-key.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';

export const suffixes = new HostingSuffixes(shippedSuffixes());

/** An own status: `BLOCKED URL evil.example`. */
export type OwnStatus = `${'BLOCKED' | 'ALLOWED'} ${string}`;
/** A list in memory. */
export interface TestList {
  readonly format?: Format;
  readonly verdict?: 'BLOCKED' | 'ALLOWED';
  readonly text: string;
}

const ownSource = async (statuses: readonly OwnStatus[]): Promise<Source> => {
  const checkpoint = { table: '1', parkedBefore: '', parked: '', checkpoint: 1, stream: null, revision: null };
  const rows = statuses.map((text, index) => {
    const [status, type = '', ...words] = text.split(' ');
    const content = words.join(' ');
    const entry = { asset: assetKey({ type, content }), assetHash: String(index), content, status, createdAt: 0 };
    return { ...checkpoint, eventId: null, ...entry, position: index };
  });
  const noRow = { ...checkpoint, eventId: null, asset: null, assetHash: null, position: null };
  const pool = { query: () => Promise.resolve({ rows: rows.length === 0 ? [noRow] : rows }) } as unknown as Pool;
  const own = new OwnStatuses(pool, new InMemoryEventLog(), suffixes, 1e9, (sentence) => {
    throw new Error(sentence);
  });
  await own.refresh();
  return { id: 'own', mode: 'ENABLED', redistribute: true, of: { kind: 'own', statuses: own } };
};

/** A guard in memory with one host per line. */
export const guardOf = async (text: string, format: 'plain' | 'csv' = 'plain', id = 'popular'): Promise<Guard> => {
  const bytes = Buffer.from(text);
  const { table, above } = await parseList({ chunks: [bytes], size: bytes.length }, format, 'GUARDED', suffixes);
  return { settings: { id }, table, above, version: 1 };
};

const listSource = async (
  { format = 'plain', verdict = 'BLOCKED', text }: TestList,
  id: string,
  guards: Guards,
): Promise<Source> => {
  const bytes = Buffer.from(text);
  const content = await parseList({ chunks: [bytes], size: bytes.length }, format, verdict, suffixes);
  const list: Pick<ListSource, 'check' | 'listed'> = {
    listed: content,
    check: (parsed, hashes) => matchList(content, format, parsed, hashes, suffixes, guards),
  };
  return { id, mode: 'ENABLED', redistribute: true, of: { kind: 'list', list: list as ListSource } };
};

/** Returns sources in memory: own statuses, and lists. */
export const sourcesOf = async (
  statuses: readonly OwnStatus[],
  lists: readonly TestList[],
  guards: readonly Guard[],
): Promise<Source[]> => [
  await ownSource(statuses),
  ...(await Promise.all(lists.map((list, n) => listSource(list, `l${n}`, new Guards(guards))))),
];

/** Returns a function that checks a content against own statuses and lists in memory. */
export const checkerOf = async (
  statuses: readonly OwnStatus[],
  lists: readonly TestList[] = [],
  guards: readonly Guard[] = [],
): Promise<(content: string) => AssetCheckResponse> => {
  const checker = new AssetChecker(await sourcesOf(statuses, lists, guards), 1_000);
  return (content) => checker.check(content, 'acme') as AssetCheckResponse;
};
