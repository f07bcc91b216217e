import { userInfo } from 'node:os';

/** Returns the name of the OS user of the caller, or the user id if the user has no name, as in many containers. */
export const operatorName = (): string => {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
};
