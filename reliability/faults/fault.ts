import type { Scene } from '../rig/scene.js';

/** What a run of a fault came to. */
export interface Outcome {
  /** What was done to the service, in figures. */
  readonly dose: string;
  /** What it did, in figures. */
  readonly seen: string;
  /** What should not have been: one sentence each. None: it stood. */
  readonly findings: readonly string[];
}

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
