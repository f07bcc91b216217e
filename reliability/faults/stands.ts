import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Fault, Outcome } from './fault.js';
import { Scene } from '../rig/scene.js';

const MAX_MS = 300_000;

const within = async (work: (scene: Scene) => Promise<Outcome>): Promise<Outcome> => {
  const scene = new Scene(1);
  try {
    const outcome = await work(scene);
    if (outcome.findings.length > 0) scene.keep('outcome.json', () => JSON.stringify(outcome, undefined, 2));
    return outcome;
  } catch (error) {
    throw new Error(`The history is kept in ${await scene.save()}`, { cause: error });
  } finally {
    await scene.end();
  }
};

/** `n/m`: the n-th of m parts. CI takes another part of the counter-tests with each commit; by itself a run takes all. */
const [PART, PARTS] = (process.env['COUNTER_TESTS'] ?? '0/1').split('/').map(Number) as [number, number];
const isInPart = (name: string): boolean => createHash('sha256').update(name).digest().readUInt32BE() % PARTS === PART;

/** The short dose of a fault, and the proof that it would be noticed if the service did not stand it. */
export const stands = async (fault: Fault): Promise<void> => {
  const unfit = await fault.unfit?.();
  const run = unfit === undefined ? it : it.skip;
  describe(`${fault.name}: ${fault.what}`, () => {
    run(
      unfit === undefined ? 'is survived' : `is not tried: ${unfit}`,
      async () => {
        expect((await within((scene) => fault.run(scene, fault.doses.short))).findings).toEqual([]);
      },
      MAX_MS,
    );

    (isInPart(fault.name) ? run : it.skip)(
      `would be noticed without this: ${fault.guard}`,
      async () => {
        expect((await within((scene) => fault.without(scene))).findings).not.toEqual([]);
      },
      MAX_MS,
    );
  });
};
