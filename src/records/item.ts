import { formatInstant } from '../events/instant.js';
import { LISTED_KIND, type ListedKind } from '../read-models/listed-kind.js';
import type { RecordItem } from './records.dto.js';
import type { ItemRow } from './statements.js';

const KINDS: ReadonlyMap<number, ListedKind> = new Map(
  Object.entries(LISTED_KIND).map(([name, kind]) => [kind, name as ListedKind]),
);
export const kindOf = (kind: number): ListedKind => KINDS.get(kind)!;

/** A record as lists and the feed show it. */
export const itemOf = (kind: ListedKind, row: ItemRow): RecordItem => {
  const { id, status, type, content, brands } = row;
  const createdAt = formatInstant(row.createdAt);
  const updatedAt = row.updatedAt === null ? '' : formatInstant(row.updatedAt);
  if (kind === 'report') return { id, brands: [...brands!], createdAt, updatedAt };
  const asset = { type: type!, content: content! };
  if (kind === 'verdict') return { id, asset, status: status!, brands: [...brands!], createdAt };
  const [brand] = kind === 'takedown' ? brands! : [];
  return { id, asset, status: status!, ...(brand !== undefined && { brand }), createdAt, updatedAt };
};
