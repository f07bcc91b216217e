import { afterAll, describe, expect, it } from '@jest/globals';
import { SharedServices } from '../rig/shared-services.js';
import { RunContext } from '../rig/run-context.js';
import type { Outcome, Scenario } from '../scenario.js';

/** The timeout of one run. */
const MAX_MS = 300_000;

const inContext = async (work: (context: RunContext) => Promise<Outcome>): Promise<Outcome> => {
  const context = new RunContext(1);
  try {
    return await work(context);
  } catch (error) {
    throw new Error(`The history of the run is in ${await context.save()}`, { cause: error });
  } finally {
    await context.end();
  }
};

/** Defines two tests: the scenario at its `everyChange` scale, and its negative control at the same scale. */
export const describeScenario = ({
  name,
  what,
  guard,
  everyChange,
  run,
  withoutGuard,
  controlFinding,
}: Scenario): void =>
  describe(`${name}: ${what}`, () => {
    const sharedServices = new SharedServices();
    afterAll(() => sharedServices.close());

    it(
      'has no findings with the guard',
      async () => {
        const { findings } = await inContext((context) => run(context, everyChange, sharedServices));
        expect([...findings, ...(await sharedServices.close())]).toEqual([]);
      },
      MAX_MS,
    );

    it(
      `has the expected finding without the guard: ${guard}`,
      async () => {
        const { findings } = await inContext((context) => withoutGuard(context, everyChange));
        expect(findings).toContainEqual(expect.stringMatching(controlFinding!));
      },
      MAX_MS,
    );
  });
