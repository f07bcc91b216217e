/** Why a fault cannot run where a program is missing, which it needs. */
export const needs = (isThere: boolean, program: string) => async (): Promise<string | undefined> =>
  isThere ? undefined : `It needs ${program}`;
