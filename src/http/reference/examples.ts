import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One recorded answer, and its request unless many routes share that case. */
export interface Recorded {
  /** A few words that name the case. */
  readonly summary: string;
  readonly request?: {
    readonly path: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: unknown;
  };
  /** Declared headers only; values that differ each time are replaced by a constant. */
  readonly headers: Readonly<Record<string, string>>;
  /** The answer's media type; absent if it has no body. */
  readonly type?: string;
  readonly body: unknown;
}

/** By status. */
export type Recording = Readonly<Record<string, readonly Recorded[]>>;

const FOLDER = join(import.meta.dirname, 'examples');

/** The recorded examples by operation id; a spec records them and compares them with the service. */
export const readRecordings = (): ReadonlyMap<string, Recording> =>
  new Map(
    readdirSync(FOLDER)
      .filter((file) => file.endsWith('.json'))
      .map((file) => [
        file.slice(0, -'.json'.length),
        JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Recording,
      ]),
  );

/** @returns a media type's examples by their summaries; undefined if there are none */
export const examplesOf = (
  recorded: readonly Recorded[],
  valueOf: (one: Recorded) => unknown,
): Record<string, { summary: string; value: unknown }> | undefined => {
  const named = recorded.flatMap((one) => {
    const value = valueOf(one);
    return value === undefined ? [] : [[keyOf(one.summary), { summary: one.summary, value }]];
  });
  return named.length === 0 ? undefined : Object.fromEntries(named);
};

const keyOf = (summary: string): string =>
  summary
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
