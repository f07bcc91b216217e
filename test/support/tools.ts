import { describe, it } from '@jest/globals';

/** A program that some specs need. CI sets REQUIRE_ALL=1: there a missing one is a failure, elsewhere a skip. */
export const describeWith = (isInstalled: boolean, tool: string): typeof describe.skip => {
  if (isInstalled) return describe;
  if (process.env['REQUIRE_ALL'] === '1')
    it(`has ${tool}`, () => {
      throw new Error(`${tool} is missing, so these tests cannot run, and REQUIRE_ALL=1 requires them`);
    });
  else process.stderr.write(`${tool} is missing: its tests are skipped.\n`);
  return describe.skip;
};
