import type { Scene } from './rig/scene.js';
import type { Site } from './rig/site.js';

/** The result of a run of a scenario. */
export interface Outcome {
  /** What was done to the service, in figures. */
  readonly dose: string;
  /** What the service did, in figures. */
  readonly seen: string;
  /** What the service did wrong, one sentence each. An empty list means that the service survived. */
  readonly findings: readonly string[];
}

/** Something bad that happens to the service (a fault), or that somebody does to it on purpose (an attack). */
export interface Scenario<Dose = any> {
  /** The number in docs/internals/reliability.md or docs/operations/security.md: `F1`, `S1`. */
  readonly name: string;
  readonly what: string;
  /** The requirements of OWASP ASVS 5.0.0 that an attack bears on, each with the title of its section. */
  readonly asvs?: Readonly<Record<string, string>>;
  /** The dose of `npm run reliability`. */
  readonly full: Dose;
  /**
   * The dose of the spec in `every-change`. Its limits concern counts (lost, doubled, wrong), not speed, so that a busy
   * machine reaches none of them.
   */
  readonly everyChange?: Dose;
  /** Returns the reason why the scenario cannot run on this machine, if there is one. */
  readonly unfit?: () => Promise<string | undefined>;
  /** @param site the running services that the scenarios of a run share */
  readonly run: (scene: Scene, dose: Dose, site: Site) => Promise<Outcome>;
  /** The guard that `without` removes. */
  readonly guard: string;
  /** What the counter-test changes in the full dose, where that would take too long. */
  readonly counterTest?: Partial<Dose>;
  /**
   * The counter-test: the same judgement where the guard is missing, with the same limits unless `counterTest` names
   * others. It must find something; otherwise `run` proves nothing.
   */
  readonly without: (scene: Scene, dose: Dose) => Promise<Outcome>;
}
