import { userInfo } from 'node:os';

/** The OS user of the caller; a number if the user has no name, as in many containers. */
export const operatorName = (): string => {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
};
