import { outliveReaders, say } from './terminal.js';

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
