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

/** Equals `JSON.stringify(itemOf(kind, row))` in a third of the time; an answer of the feed has a thousand. */
export const itemJson = (kind: ListedKind, row: ItemRow): string => {
  const id = JSON.stringify(row.id);
  const createdAt = `"createdAt":"${formatInstant(row.createdAt)}"`;
  const updatedAt = `"updatedAt":"${row.updatedAt === null ? '' : formatInstant(row.updatedAt)}"`;
  if (kind === 'report') return `{"id":${id},"brands":${JSON.stringify(row.brands)},${createdAt},${updatedAt}}`;
  const { type, content, status } = row;
  const asset = `{"type":${JSON.stringify(type)},"content":${JSON.stringify(content)}}`;
  const shown = `{"id":${id},"asset":${asset},"status":${JSON.stringify(status)}`;
  if (kind === 'verdict') return `${shown},"brands":${JSON.stringify(row.brands)},${createdAt}}`;
  const [brand] = kind === 'takedown' ? row.brands! : [];
  return `${shown}${brand === undefined ? '' : `,"brand":${JSON.stringify(brand)}`},${createdAt},${updatedAt}}`;
};
