import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../../..');

export const readSource = (path: string): string => readFileSync(join(root, path), 'utf8');

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
