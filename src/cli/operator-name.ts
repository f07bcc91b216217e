import { userInfo } from 'node:os';

/** Who calls, as the operating system knows them; a number where it has no name for them, as in many containers. */
export const operatorName = (): string => {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
};
