/** Returns why a scenario cannot run on a machine without the program that it needs. */
export const needs = (isThere: boolean, program: string) => async (): Promise<string | undefined> =>
  isThere ? undefined : `It needs ${program}`;
