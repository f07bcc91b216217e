import { Site } from '../attacks/rig/site.js';
import type { Scene } from '../rig/scene.js';
import type { Outcome, Scenario } from '../scenario.js';

export type { Outcome };

export type DoseName = 'short' | 'full';

/** Something bad that happens to the service. */
export interface Fault<Dose = any> {
  /** As the goals number it. */
  readonly name: string;
  readonly what: string;
  /** `short` takes seconds and runs with `npm run test:all`, `full` is what the goals ask for. */
  readonly doses: Readonly<Record<DoseName, Dose>>;
  /** Why it cannot run on this machine. */
  unfit?(): Promise<string | undefined>;
  run(scene: Scene, dose: Dose): Promise<Outcome>;
  /** The guard that `without` takes out. */
  readonly guard: string;
  /** The same judgement with the guard taken out: it must find something, or it would find nothing ever. */
  without(scene: Scene): Promise<Outcome>;
}

/** So that the campaign can run it beside those that have doses of both names. */
export const asFault = ({ full, everyChange, run, without, ...rest }: Scenario, site = new Site()): Fault => ({
  ...rest,
  doses: { short: everyChange, full },
  run: (scene, dose) => run(scene, dose, site),
  without: (scene) => without(scene, full),
});
