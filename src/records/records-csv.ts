import { csvLine } from '../http/answers/csv.js';
import type { ListedKind } from '../read-models/listed-kind.js';
import { itemOf } from './item.js';
import type { RecordItem, ReportItem, TakedownItem } from './records.dto.js';
import type { ItemRow } from './statements.js';

type Column = readonly [name: string, cell: (item: RecordItem) => string];

const CREATED: Column = ['createdAt', ({ createdAt }) => createdAt];
const UPDATED: Column = ['updatedAt', (item) => (item as TakedownItem).updatedAt];
const ID: Column = ['id', ({ id }) => id];
const BRANDS: Column = ['brands', (item) => (item as ReportItem).brands.join(' ')];
const BRAND: Column = ['brand', (item) => (item as TakedownItem).brand ?? ''];
const OF_ASSET: readonly Column[] = [
  ['asset.type', (item) => (item as TakedownItem).asset.type],
  ['asset.content', (item) => (item as TakedownItem).asset.content],
  ['status', (item) => (item as TakedownItem).status],
];

const COLUMNS: Readonly<Record<ListedKind, readonly Column[]>> = {
  report: [ID, BRANDS, CREATED, UPDATED],
  threat: [ID, ...OF_ASSET, CREATED, UPDATED],
  takedown: [ID, ...OF_ASSET, BRAND, CREATED, UPDATED],
  verdict: [ID, ...OF_ASSET, BRANDS, CREATED],
};

export const headerOf = (kind: ListedKind): string => csvLine(COLUMNS[kind].map(([name]) => name));

export const lineOf = (kind: ListedKind, row: ItemRow): string => {
  const item = itemOf(kind, row);
  return csvLine(COLUMNS[kind].map(([, cell]) => cell(item)));
};
