import { afterAll, describe, expect, it } from '@jest/globals';
import { Site } from '../rig/site.js';
import { Scene } from '../rig/scene.js';
import type { Outcome, Scenario } from '../scenario.js';

/** Ends a run that hangs. */
const MAX_MS = 300_000;

const inScene = async (work: (scene: Scene) => Promise<Outcome>): Promise<Outcome> => {
  const scene = new Scene(1);
  try {
    return await work(scene);
  } catch (error) {
    throw new Error(`The history is kept in ${await scene.save()}`, { cause: error });
  } finally {
    await scene.end();
  }
};

/** Defines the specs of a scenario: the run at its `everyChange` dose, and its counter-test at the same dose. */
export const survives = ({ name, what, guard, everyChange, run, without }: Scenario): void =>
  describe(`${name}: ${what}`, () => {
    const site = new Site();
    afterAll(() => site.close());

    it(
      'is survived by the service',
      async () => {
        const { findings } = await inScene((scene) => run(scene, everyChange, site));
        expect([...findings, ...(await site.close())]).toEqual([]);
      },
      MAX_MS,
    );

    it(
      `is noticed without the guard: ${guard}`,
      async () => {
        const { findings } = await inScene((scene) => without(scene, everyChange));
        expect(findings).not.toEqual([]);
      },
      MAX_MS,
    );
  });
