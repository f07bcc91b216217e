/** Fails if a production dependency has a licence that is not on this list, or names no licence. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isProgram, readPackages, tell } from './lock-file.mjs';

/** SPDX ids of permissive licences, which require at most a copyright notice. */
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

/** Whether an SPDX expression is satisfied. Supports `AND` and `OR`, but no exceptions and no nested brackets. */
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
