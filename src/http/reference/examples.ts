import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One answer of the running service, and what was sent for it unless many routes answer that alike. */
export interface Recorded {
  /** A few words that say which case it is. */
  readonly summary: string;
  readonly request?: {
    readonly path: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: unknown;
  };
  /** Those that are declared; what differs each time is replaced by a constant. */
  readonly headers: Readonly<Record<string, string>>;
  /** The media type of the answer; absent where it has no body. */
  readonly type?: string;
  readonly body: unknown;
}

/** By status. */
export type Recording = Readonly<Record<string, readonly Recorded[]>>;

const FOLDER = join(import.meta.dirname, 'examples');

/** What a spec has recorded of each operation, by its id; it compares them with the service ever after. */
export const readRecordings = (): ReadonlyMap<string, Recording> =>
  new Map(
    readdirSync(FOLDER)
      .filter((file) => file.endsWith('.json'))
      .map((file) => [
        file.slice(0, -'.json'.length),
        JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Recording,
      ]),
  );

/** @returns examples as a media type lists them, by their summaries; undefined where there is none */
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
