import { asFault as ofScenario, type DoseName, type Fault, type Outcome } from '../faults/fault.js';
import type { Scenario } from '../scenario.js';
import type { Scene } from '../rig/scene.js';
import type { Site } from './rig/site.js';

/** Where an attack is made: the site that all of them share, and the scene of this one alone. */
export interface Stage {
  readonly site: Site;
  readonly scene: Scene;
}

/** Something that somebody does to the service on purpose. */
export interface Attack<Dose = any> {
  readonly name: string;
  readonly what: string;
  /** The requirements of OWASP ASVS 5.0.0 it bears on, each with the title of its section. */
  readonly asvs: Readonly<Record<string, string>>;
  /** `short` takes seconds and runs with the tests, `full` is what the goals ask for. */
  readonly doses: Readonly<Record<DoseName, Dose>>;
  run(stage: Stage, dose: Dose): Promise<Outcome>;
  /** What `without` does without. */
  readonly guard: string;
  /** The same judgement where the guard is missing: it must find something, or it would never find anything. */
  without(stage: Stage): Promise<Outcome>;
}

/** So that the rig of the faults can run it and show its table. */
export const asFault = (attack: Attack | Scenario, site: Site): Fault => {
  const what = `${attack.what} [ASVS ${Object.keys(attack.asvs ?? {}).join(', ')}]`;
  if (!('doses' in attack)) return ofScenario({ ...attack, what }, site);
  return {
    ...attack,
    what,
    run: (scene, dose: unknown) => attack.run({ site, scene }, dose),
    without: (scene) => attack.without({ site, scene }),
  };
};
