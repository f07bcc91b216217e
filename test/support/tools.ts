import { describe, it } from '@jest/globals';

/**
 * Returns `describe`, or `describe.skip` if a required program is not installed. With REQUIRE_ALL=1, which CI sets, a
 * missing program is a failure.
 */
export const describeWith = (isInstalled: boolean, tool: string): typeof describe.skip => {
  if (isInstalled) return describe;
  if (process.env['REQUIRE_ALL'] === '1')
    it(`requires ${tool}`, () => {
      throw new Error(`${tool} is missing, so these tests cannot run, and REQUIRE_ALL=1 requires them`);
    });
  else process.stderr.write(`${tool} is missing: its tests are skipped.\n`);
  return describe.skip;
};
