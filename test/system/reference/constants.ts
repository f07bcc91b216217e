import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../../..');

export const readSource = (path: string): string => readFileSync(join(root, path), 'utf8');

const VALUE = String.raw`\s*((?:[\d_]+|[A-Za-z]\w*)(?:\s*\*\s*(?:[\d_]+|[A-Za-z]\w*))*)`;

/**
 * The number that a source file gives a constant or a property of an object.
 * @param name `NAME`, or the names that lead to a property: `TURNS.running`
 * @throws Error if the file has no such name, or if its value is not a product of numbers and constants of that file
 */
export const numberOf = (path: string, name: string): number => {
  const source = readSource(path);
  const names = name.split('.');
  let rest = source;
  for (const outer of names.slice(0, -1)) {
    const found = new RegExp(String.raw`\b${outer}(?:: [\w<>]+)?\s*[=:]`).exec(rest);
    if (found === null) throw new Error(`${path} has no ${outer}`);
    rest = rest.slice(found.index + found[0].length);
  }
  const last = new RegExp(String.raw`\b${names.at(-1)!}(?:: [\w<>]+)?\s*[=:]${VALUE}`).exec(rest);
  if (last === null) throw new Error(`${path} has no number ${name}`);
  return last[1]!
    .split('*')
    .map((part) => part.trim())
    .reduce(
      (product, part) => product * (/^\d/.test(part) ? Number(part.replaceAll('_', '')) : numberOf(path, part)),
      1,
    );
};

/** Formats a number with thousands separators: 20,000. */
export const count = (value: number): string => value.toLocaleString('en-US');

const inUnits = (value: number, units: readonly (readonly [size: number, name: string])[]): string => {
  const [size, name] = units.find(([each]) => value >= each && value % each === 0) ?? units.at(-1)!;
  return `${count(value / size)} ${name}`;
};

/** @param value bytes */
export const bytes = (value: number): string =>
  inUnits(value, [
    [1024 ** 3, 'GiB'],
    [1024 ** 2, 'MiB'],
    [1024, 'KiB'],
    [1, 'bytes'],
  ]);

/** @param value ms */
export const duration = (value: number): string =>
  inUnits(value, [
    [24 * 60 * 60_000, 'days'],
    [60_000, 'min'],
    [1_000, 's'],
    [1, 'ms'],
  ]);
