/** Returns the skip reason of a scenario that needs a program. */
export const requireProgram = (isThere: boolean, program: string) => async (): Promise<string | undefined> =>
  isThere ? undefined : `requires ${program}`;
