/**
 * Returns the `skipReason` of a scenario that needs a program: a text if the program is missing, otherwise undefined.
 */
export const requireProgram = (isInstalled: boolean, program: string) => async (): Promise<string | undefined> =>
  isInstalled ? undefined : `requires ${program}`;
