import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { expect, it } from '@jest/globals';

/**
 * The files that may read the wall clock of this machine, and why. Instants that are stored and compared later come
 * from the database's clock (`src/postgres/clock.ts`). Durations are measured with `performance.now()`.
 */
const ALLOWED: Readonly<Record<string, readonly [readings: number, reason: string]>> = {
  'src/runtime/log-line.ts': [1, 'the time of a log line, for people'],
  'src/http/ops/access-log.ts': [1, 'the time of a line of the access log, for people'],
  'src/http/server.ts': [1, 'the Date header of a raw HTTP response'],
  'src/runtime/opentelemetry.ts': [1, 'the start of a span, which a collector shows to people'],
  'src/postgres/clock.ts': [1, 'until the database has answered once'],
  'src/asset-check/own/own-statuses.ts': [3, 'which statuses have expired, whose instants upstream set'],
  'src/lists/lists.module.ts': [1, 'whether a status has expired since the last build'],
  'src/asset-check/asset-checker.ts': [1, 'how long until a status expires'],
  'src/asset-check/lists/list-copy.ts': [1, 'the age of a temporary file in its own data folder'],
  'src/asset-check/lists/list-source.ts': [3, 'when this machine fetched a list, kept in its own data folder'],
  'src/asset-check/sources/configured-sources.ts': [1, 'the age of a list that this machine fetched'],
  'src/asset-check/sources/sources.ts': [1, 'the age of a list that this machine fetched'],
  'src/event-log/new-event.ts': [1, 'when a log was opened, for people'],
  'src/api-keys/api-keys.ts': [2, 'when an operator issued or revoked a key, for people'],
  'src/cli/events.ts': [1, 'the expiry of a key that is issued for one call: one day from now'],
  'src/cli/demo/disputes-and-webhook.ts': [1, 'how long ago the disputes of the demo were filed, for people'],
  'src/cli/demo/keys.ts': [2, 'the expiry of a key for the demo'],
  'src/dashboard/page/live.js': [2, 'the timer of a page, in the browser'],
  'src/dashboard/page/range.js': [1, 'the range that a person chose, in the browser'],
  'src/dashboard/page/filters.js': [2, 'the range and the moment that a person chose, in the browser'],
  'src/dashboard/page/figures/over-time.js': [1, 'the range that a person chose, in the browser'],
  'src/dashboard/page/organization/recent.js': [2, 'the day before the visit, in the browser'],
  'src/dashboard/page/organization/visits.js': [2, 'when a person opened the page, in the browser'],
  'src/dashboard/page/organization/open-takedowns.js': [1, 'how long a takedown has been open, in the browser'],
  'src/dashboard/page/figures/newest.js': [1, 'the range that a person chose, in the browser'],
  'projections/engine/parked.ts': [2, 'when an operator dropped or retried a parked event, for people'],
};

/** Also a reference to `Date.now` that is called later, and `Date()` and `new Date` without parentheses or arguments. */
const WALL_CLOCK = /\bDate\.now\b|\bnew Date\b(?!\()|(?<!\.)\bDate\(\)|Temporal\.Now\b/g;

const root = join(import.meta.dirname, '..');
const sources = ['src', 'projections'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:ts|js)$/.test(name))
    .map((name) => posix.join(folder, name.replaceAll('\\', '/'))),
);

it('The product reads the wall clock only in the listed files', () => {
  const found = sources.flatMap((path): [string, number][] => {
    const readings = [...readFileSync(join(root, path), 'utf8').matchAll(WALL_CLOCK)].length;
    return readings === 0 ? [] : [[path, readings]];
  });
  expect(Object.fromEntries(found)).toEqual(
    Object.fromEntries(Object.entries(ALLOWED).map(([path, [readings]]) => [path, readings])),
  );
});
