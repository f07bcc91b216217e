import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { outliveReaders, say } from './terminal.js';

/** Returns the version in the nearest `package.json`. Its distance differs between the sources and the build. */
const readVersion = (folder: string): string => {
  const file = join(folder, 'package.json');
  return existsSync(file)
    ? (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
    : readVersion(dirname(folder));
};

/**
 * The version of the service, as in `package.json`. `import.meta.dirname` would be shorter, but does not exist before
 * Node 20.11, and this module is loaded before the version of Node is checked.
 */
export const VERSION = readVersion(dirname(fileURLToPath(import.meta.url)));

/** The `User-Agent` of all requests that the service sends. */
export const USER_AGENT = `threat-protection/${VERSION}`;

/** The same version as `engines` in package.json; a spec compares the two. */
const MIN_VERSION = [20, 19] as const;

/**
 * @param version such as `v18.20.4`
 * @returns the error message if the version is too old; otherwise undefined
 */
export const nodeIssue = (version: string): string | undefined => {
  const [major = 0, minor = 0] = version.replace('v', '').split('.').map(Number);
  if (major > MIN_VERSION[0] || (major === MIN_VERSION[0] && minor >= MIN_VERSION[1])) return undefined;
  return `This is Node ${version}; the service needs Node ${MIN_VERSION.join('.')} or later`;
};

/**
 * Prepares the process, and ends it if its version of Node is too old. Every program calls this function first. This
 * file imports only modules that an old version can parse.
 */
export const requireNode = (): void => {
  outliveReaders();
  const issue = nodeIssue(process.version);
  if (issue === undefined) return;
  say(issue);
  process.exit(78);
};
