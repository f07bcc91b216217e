import { say } from './terminal.js';

/** As `engines` in package.json; a spec compares them. */
const LEAST = [20, 19] as const;

/**
 * @param version such as `v18.20.4`
 * @returns what is wrong with it; undefined if nothing is
 */
export const nodeIssue = (version: string): string | undefined => {
  const [major = 0, minor = 0] = version.replace('v', '').split('.').map(Number);
  if (major > LEAST[0] || (major === LEAST[0] && minor >= LEAST[1])) return undefined;
  return `This is Node ${version}; the service needs Node ${LEAST.join('.')} or later`;
};

/** Ends the process if its Node is too old. Imports only what an old Node can parse. */
export const requireNode = (): void => {
  const issue = nodeIssue(process.version);
  if (issue === undefined) return;
  say(issue);
  process.exit(78);
};
