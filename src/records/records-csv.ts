import { fieldsOf, KIND_NAMES, type ListedKind } from '../events/listed-items.js';
import { csvLine } from '../http/responses/csv.js';

/** The path of a column: the name of a field, or of a field and its property. */
type Path = readonly string[];

const COLUMNS: ReadonlyMap<ListedKind, readonly Path[]> = new Map(
  KIND_NAMES.map((kind) => [
    kind,
    Object.entries(fieldsOf(kind)).flatMap(([name, { properties }]) =>
      properties === undefined ? [[name]] : Object.keys(properties as object).map((property) => [name, property]),
    ),
  ]),
);

const cellOf = (item: unknown, path: Path): string => {
  const value = path.reduce((within, name) => (within as Readonly<Record<string, unknown>>)[name], item);
  if (Array.isArray(value))
    return value.map((each) => (typeof each === 'string' ? each : JSON.stringify(each))).join(' ');
  return (value as string | undefined) ?? '';
};

export const headerOf = (kind: ListedKind): string => csvLine(COLUMNS.get(kind)!.map((path) => path.join('.')));

/** @param item the parsed JSON of the item */
export const lineOf = (kind: ListedKind, item: unknown): string =>
  csvLine(COLUMNS.get(kind)!.map((path) => cellOf(item, path)));
