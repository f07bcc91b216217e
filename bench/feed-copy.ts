import { LISTED_KIND } from '../src/events/listed-items.js';
import { requireEqual } from './equal.js';
import { LARGEST_ORGANIZATION } from './facts.js';
import { type Goal, measure, rates } from './goal.js';
import { listedRecords, PAGE } from './listed-records.js';
import { issueKeys, startApi } from './services.js';
import type { Slice } from './paired.js';

/** Reads the rows of the feed in its order directly from the database. */
const RAW = {
  name: 'bench-feed',
  text: `select position, id, stored_at, version, status, type, content from read.register
    where organization = $1 and kind = ${LISTED_KIND.threat} and position > $2 order by position limit ${PAGE}`,
};

/** Matches the ids of elements. Ids inside the data of an element have another form and do not match. */
export const ELEMENT_ID = /"id":"([\w-]{8}\.[\w-]{22})"/g;

/** A slice that reads page after page, and starts over after the last page. */
const readPages = <Place>(
  next: (after: Place | undefined) => Promise<{ read: number; last: Place | undefined }>,
): Slice => {
  let place: Place | undefined;
  return async (ms) => {
    const from = performance.now();
    let done = 0;
    while (performance.now() - from < ms) {
      const { read, last } = await next(place);
      done += read;
      place = read < PAGE ? undefined : last;
    }
    return (done * 1000) / (performance.now() - from);
  };
};

/** Compares a full copy from the feed over HTTP with reading the rows and writing them as JSON in one process. */
export const feedCopy: Goal = {
  name: 'G18b',
  run: async (bench) => {
    const { database } = await listedRecords(bench);
    const { url } = await startApi(bench, database);
    const [key] = await issueKeys(database, ['read'], [LARGEST_ORGANIZATION]);
    /** Returns the page as text, because parsing it is the work of the client. */
    const ask = async (last: string | undefined): Promise<string> => {
      const query = last === undefined ? '' : `?lastEventId=${last}`;
      const response = await fetch(`${url}/v2/organization/feed${query}`, {
        // Uncompressed, because the peer does not compress the rows.
        headers: { 'x-api-key': key!, 'accept-encoding': 'identity' },
        redirect: 'error',
      });
      if (!response.ok) throw new Error(`The feed returned ${response.status}: ${await response.text()}`);
      return response.text();
    };
    const readRaw = async (after: number): Promise<{ position: number; id: string }[]> =>
      (await database.pool.query<{ position: number; id: string }>({ ...RAW, values: [LARGEST_ORGANIZATION, after] }))
        .rows;
    requireEqual(
      'the first page',
      (await readRaw(-1)).map(({ id }) => id),
      (JSON.parse(await ask(undefined)) as { subject: string }[]).map(({ subject }) => subject),
    );
    const paired = await measure(bench, 'G18b', {
      base: readPages<number>(async (after = -1) => {
        const rows = await readRaw(after);
        JSON.stringify(rows);
        return { read: rows.length, last: rows.at(-1)?.position };
      }),
      target: readPages<string>(async (after) => {
        const ids = [...(await ask(after)).matchAll(ELEMENT_ID)];
        return { read: ids.length, last: ids.at(-1)?.[1] };
      }),
    });
    return [
      {
        what: 'a full copy by the feed, over HTTP',
        against: 'raw pg and JSON.stringify of the same rows',
        measured: paired.ratio,
        must: 0.5,
        aim: 0.8,
        note: rates(paired, 'records per second'),
      },
    ];
  },
};
