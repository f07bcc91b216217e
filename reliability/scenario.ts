import type { RunContext } from './rig/run-context.js';
import type { SharedServices } from './rig/shared-services.js';

/** The result of a run of a scenario. */
export interface Outcome {
  /** What the scenario did to the service, with numbers. */
  readonly workload: string;
  /** How the service behaved, with numbers. */
  readonly observed: string;
  /** What the service did wrong, one sentence each. The service passed if the list is empty. */
  readonly findings: readonly string[];
}

/** A fault, such as a crash, or an attack on the service. */
export interface Scenario<Scale = any> {
  /** The number in docs/internals/reliability.md or docs/operations/security.md: `F1`, `S1`. */
  readonly name: string;
  readonly what: string;
  /** The OWASP ASVS 5.0.0 requirements that an attack tests, each with the title of its section. */
  readonly asvs?: Readonly<Record<string, string>>;
  /** The scale of `npm run reliability`. */
  readonly full: Scale;
  /**
   * The scale of the spec in `every-change`. Its limits concern counts (lost, stored twice, wrong) and not speed, so
   * that the spec also passes on a busy machine.
   */
  readonly everyChange?: Scale;
  /** Returns the reason why the scenario cannot run on this machine, if there is one. */
  readonly skipReason?: () => Promise<string | undefined>;
  /** @param site the running services that the scenarios of a run share */
  readonly run: (context: RunContext, scale: Scale, sharedServices: SharedServices) => Promise<Outcome>;
  /** The mechanism of the service that `withoutGuard` removes. */
  readonly guard: string;
  /** Overrides of the full scale for the negative control, if the full scale would take too long. */
  readonly controlScale?: Partial<Scale>;
  /**
   * The negative control: the same checks without the guard, on this service or on a simple server, with the same
   * limits unless `controlScale` overrides them. It must have findings; otherwise the checks of `run` cannot fail.
   * Findings on a simple server do not prove that this service depends on the guard.
   */
  readonly withoutGuard: (context: RunContext, scale: Scale) => Promise<Outcome>;
  /**
   * Matches the finding that the negative control must have: the control fails if it has only other findings. Required
   * with `everyChange`.
   */
  readonly controlFinding?: RegExp;
}
