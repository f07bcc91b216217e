/** Fails where a package of production is under a licence that is not on this list, or under none that it names. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isProgram, readPackages, tell } from './lock-file.mjs';

/** Each lets anybody use, change and pass on the code, and asks for its notice at most. SPDX. */
export const ACCEPTED = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
  'PostgreSQL',
  'Python-2.0',
]);

/** Whether an SPDX expression can be met: `OR` by one of them, `AND` by all; without exceptions and brackets inside brackets. */
export const isAccepted = (expression) =>
  expression
    .replace(/^\((.*)\)$/, '$1')
    .split(' OR ')
    .some((all) => all.split(' AND ').every((one) => ACCEPTED.has(one.trim())));

const licenceOf = ({ license, folder }) => {
  if (license !== undefined) return license;
  try {
    const { license: named, licenses } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return named?.type ?? named ?? licenses?.map(({ type }) => type).join(' AND ');
  } catch {
    return undefined;
  }
};

export const unaccepted = (packages) =>
  packages
    .filter(({ dev }) => !dev)
    .map((one) => ({ ...one, licence: licenceOf(one) }))
    .filter(({ licence }) => licence === undefined || !isAccepted(licence))
    .map(({ name, version, licence }) => `${name} ${version} is under ${licence ?? 'no licence that it names'}`);

if (isProgram(import.meta.url)) tell(unaccepted(readPackages()), 'Every licence of production is one of ours');
