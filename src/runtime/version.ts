import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Returns the version in the nearest `package.json`. Its distance differs between the sources and the build. */
const readVersion = (folder: string): string => {
  const file = join(folder, 'package.json');
  return existsSync(file)
    ? (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
    : readVersion(dirname(folder));
};

/** The version of the service, as in `package.json`. */
export const VERSION = readVersion(import.meta.dirname);

/** The `User-Agent` of all requests that the service sends. */
export const USER_AGENT = `threat-protection/${VERSION}`;
