import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../../support/eventually.js';
import { sharedApp, sharedProjecting } from '../../support/open-for-tests.js';
import { sentThreat, stored } from '../../support/upstream.js';

jest.setTimeout(120_000);

const TYPE = 'application/taxii+json;version=2.1';
const PAGE = 20;
/** More requests in one poll mean that the loop does not end. */
const MAX_REQUESTS = 500;

interface Indicator {
  readonly id: string;
  readonly modified: string;
  readonly pattern: string;
}
interface Answer {
  readonly status: number;
  readonly type: string | null;
  readonly lastAdded: string | null;
  // oxlint-disable-next-line no-explicit-any
  readonly body: any;
}
type Query = Readonly<Record<string, string | number | null | undefined>>;
/** Gets a path below the API root. A parameter that is null or undefined is left out. */
type Get = (path: string, query?: Query) => Promise<Answer>;
type Take = (objects: readonly Indicator[]) => void;

/** Starts a client. The returned function polls once, and keeps what the client keeps between its runs. */
type Client = (get: Get, take: Take) => () => Promise<void>;

const OBJECTS = 'collections/threats/objects/';
const newest = (objects: readonly Indicator[], before: string | undefined): string | undefined =>
  objects.map(({ modified }) => modified).reduce((a, b) => (a > b ? a : b), before ?? '') || undefined;

/** `as_pages` of `taxii2client/v21`, with the newest `modified` as the next `added_after` of its caller. */
const oasis: Client = (get, take) => {
  let since: string | undefined;
  const checked: Get = async (path, query) => {
    const answer = await get(path, query);
    // `_HTTPConnection.valid_content_type` compares the type and its parameter `version`.
    if (answer.type?.replaceAll(' ', '') !== TYPE) throw new Error(`Unexpected content type ${answer.type}`);
    if (answer.status !== 200) throw new Error(`Status ${answer.status}`);
    return answer;
  };
  return async () => {
    if (!(await checked('')).body.versions.includes(TYPE)) throw new Error('No common version');
    const { collections } = (await checked('collections/')).body;
    const path = `collections/${collections.find(({ alias }: { alias: string }) => alias === 'threats').id}/`;
    const { id, can_read: canRead } = (await checked(path)).body;
    // `_validate_collection` requires that the URL contains the id, so this client cannot use the alias.
    if (!path.includes(id) || !canRead) throw new Error('The collection does not match its URL');
    const addedAfter = since;
    let limit = PAGE;
    let next: string | undefined;
    for (let isFirst = true, more = true; more; isFirst = false) {
      const { body } = await checked(`${path}objects/`, { limit: limit || undefined, added_after: addedAfter, next });
      const objects: Indicator[] = body.objects ?? [];
      take(objects);
      since = newest(objects, since);
      if (isFirst && body.more && objects.length !== limit) limit = objects.length;
      ({ more = false, next } = body);
    }
  };
};

/** `taxiiV21DataHandler` of the ingestion manager: one page in a run. */
const openCti: Client = (get, take) => {
  let cursor: string | undefined;
  let addedAfter: string | undefined;
  return async () => {
    const { status, body, lastAdded } = await get(OBJECTS, { limit: PAGE, next: cursor, added_after: addedAfter });
    if (status !== 200) throw new Error(`Status ${status}`);
    if (!body.objects?.length) return;
    take(body.objects);
    cursor = body.more ? body.next : undefined;
    if (cursor === undefined) addedAfter = new Date(lastAdded ?? Date.now()).toISOString();
  };
};

/** The CEL or `httpjson` configuration of `ti_custom`. @param isRepeated whether `added_after` is sent with `next` */
const elastic =
  (isRepeated: boolean): Client =>
  (get, take) => {
    let header: string | undefined;
    return async () => {
      const addedAfter = header;
      let next: string | undefined;
      do {
        const query = next === undefined || isRepeated ? { added_after: addedAfter } : {};
        const { status, body, lastAdded } = await get(OBJECTS, { limit: PAGE, next, ...query });
        if (status !== 200) throw new Error(`Status ${status}`);
        // `objects` is split without asking whether it is there.
        take(body.objects.slice());
        header = lastAdded ?? header;
        next = body.next;
      } while (next !== undefined);
    };
  };

/** `taxii.py` of the pull request: `modified` is the place. */
const mineMeld: Client = (get, take) => {
  let since: string | undefined;
  return async () => {
    const addedAfter = since;
    for (let next: string | undefined, more = true; more;) {
      const { status, body } = await get(OBJECTS, { limit: PAGE, added_after: addedAfter, next });
      if (status !== 200) throw new Error(`Status ${status}`);
      take(body.objects);
      since = newest(body.objects, since);
      ({ more, next } = body);
    }
  };
};

const headerOnly: Client = (get, take) => {
  let header: string | undefined;
  return async () => {
    for (;;) {
      const { status, body, lastAdded } = await get(OBJECTS, { limit: PAGE, added_after: header });
      if (status !== 200) throw new Error(`Status ${status}`);
      if (body.objects.length === 0) return;
      take(body.objects);
      header = lastAdded!;
    }
  };
};

/** Sentinel derives the key and the value of its table from the pattern, which has to be one comparison. */
const sentinel: Client = (get, take) =>
  headerOnly(get, (objects) => {
    for (const { pattern } of objects)
      if (!/^\[[a-z][a-z0-9-]*:[a-z_]+ = '(?:[^'\\]|\\.)*'\]$/s.test(pattern))
        throw new Error(`Not one comparison: ${pattern}`);
    take(objects);
  });

/** A property of a server that a loop needs. */
type Lack =
  | 'next beside more'
  | 'the version in the media type'
  | 'the header'
  | 'a next that stays valid'
  | 'the query in next'
  | 'the end of next'
  | 'an empty list'
  | 'modified as date added'
  | 'whole milliseconds'
  | 'one comparison';

/** Every client of the specification, with what its loop needs. */
const CLIENTS: readonly (readonly [name: string, client: Client, needs: readonly Lack[]])[] = [
  [
    'OASIS cti-taxii-client 2.3.0 (oasis-open/cti-taxii-client, 54dabad)',
    oasis,
    ['next beside more', 'the version in the media type', 'modified as date added'],
  ],
  ['OpenCTI ingestion manager, 2025 (OpenCTI-Platform/opencti)', openCti, ['the header', 'a next that stays valid']],
  [
    'Elastic ti_custom before 1.8.2 (elastic/integrations)',
    elastic(false),
    ['the query in next', 'the end of next', 'an empty list'],
  ],
  ['Elastic ti_custom from 1.8.2 (elastic/integrations)', elastic(true), ['the end of next', 'an empty list']],
  ['MineMeld (PaloAltoNetworks/minemeld-core, pull request 400)', mineMeld, ['modified as date added']],
  ['pages by the header only (OpenCTI until its issue 4537)', headerOnly, ['whole milliseconds']],
  ['Microsoft Sentinel (its published guides)', sentinel, ['one comparison']],
];

/** Counts what a client receives. */
class Received {
  readonly newest = new Map<string, string>();
  readonly faults: string[] = [];
  count = 0;

  readonly take: Take = (objects) => {
    for (const { id, modified } of objects) {
      this.count += 1;
      const before = this.newest.get(id) ?? '';
      if (modified < before) this.faults.push(`${id} came with an older state last`);
      if (modified === before) this.faults.push(`${id} came twice with one state`);
      this.newest.set(id, modified);
    }
  };
}

const limited = (get: Get): Get => {
  let requests = 0;
  return (path, query) => {
    if (++requests > MAX_REQUESTS) throw new Error('The loop does not end');
    return get(path, query);
  };
};

interface Side {
  readonly get: Get;
  /** Adds objects and changes others. @returns whether it has added the last */
  readonly change: () => Promise<boolean>;
  /** The newest state of every object. */
  readonly whole: () => Promise<ReadonlyMap<string, string>>;
}

/** Runs a client while objects are added. @returns what went wrong */
const faultsOf = async (client: Client, { get, change, whole }: Side): Promise<string[]> => {
  const received = new Received();
  const poll = client(limited(get), received.take);
  try {
    const missing = (expected: ReadonlyMap<string, string>): string[] =>
      [...expected].filter(([id, at]) => received.newest.get(id) !== at).map(([id]) => `${id} is missing`);
    const catchUp = async (): Promise<string[]> => {
      const expected = await whole();
      for (let polls = 0; polls < 60 && missing(expected).length > 0; polls += 1) await poll();
      // The last page may have been followed by none, or by an empty one.
      await poll();
      return missing(expected);
    };
    for (let isLast = false; !isLast;) [isLast] = await Promise.all([change(), poll()]);
    const during = await catchUp();
    // What is added after the client has seen everything arrives too.
    await change();
    const after = await catchUp();
    // The loop idles: after nothing has changed, nothing is repeated.
    const { count } = received;
    await poll();
    await poll();
    return [
      ...received.faults,
      ...during,
      ...after,
      ...(received.count > count ? [`${received.count - count} objects are repeated`] : []),
    ];
  } catch (error) {
    return [String(error)];
  }
};

/** A small TAXII server in memory: 15 objects in each of 40 milliseconds, 5 of which replace older ones. */
const fakeServer = (lack?: Lack): Side => {
  interface Entry extends Indicator {
    readonly at: number;
  }
  const entries: Entry[] = [];
  let at = Date.parse('2026-03-01T00:00:00.000Z');
  const change = (): boolean => {
    at += 1;
    for (let n = 0; n < 15; n += 1) {
      const id = n < 5 && entries[n * 2] ? entries[n * 2]!.id : `indicator--${at}-${n}`;
      const old = entries.findIndex((entry) => entry.id === id);
      if (old >= 0) entries.splice(old, 1);
      // A client that keeps the newest `modified` passes over all objects whose `modified` is older.
      const modified = new Date(lack === 'modified as date added' && n === 14 ? at + 60_000 : at).toISOString();
      const comparison = `domain-name:value = '${n}.example'`;
      const pattern = lack === 'one comparison' ? `[${comparison} OR ${comparison}]` : `[${comparison}]`;
      entries.push({ id, at, modified, pattern });
    }
    return at >= Date.parse('2026-03-01T00:00:00.040Z');
  };
  const type = lack === 'the version in the media type' ? 'application/taxii+json' : TYPE;
  const answer = (body: object, status = 200, lastAdded: string | null = null): Answer => ({
    status,
    type,
    lastAdded,
    body,
  });
  const get: Get = async (path, { limit, next, added_after: addedAfter } = {}) => {
    if (path === '') return answer({ versions: [TYPE] });
    if (path === 'collections/') return answer({ collections: [{ id: 'threats', alias: 'threats' }] });
    if (path !== OBJECTS) return answer({ id: 'threats', can_read: true });
    const [date, split, newestAtPage] = next ? String(next).split('.').map(Number) : [];
    if (lack === 'a next that stays valid' && next && newestAtPage !== at) return answer({}, 410);
    const after = date ?? Date.parse(String(addedAfter ?? '1970-01-01T00:00:00Z'));
    const rest = entries.filter((entry) => entry.at > after || (entry.at === split && next));
    let page = rest.slice(0, Number(limit ?? 100));
    // The rest of the last millisecond.
    if (lack !== 'whole milliseconds') page = rest.filter((entry) => entry.at <= (page.at(-1)?.at ?? 0));
    const last = page.at(-1)?.at;
    const hasMore = page.length < rest.length;
    const forgets = lack === 'the query in next' && !next && addedAfter !== undefined;
    const isNamed = lack === 'the end of next' ? true : hasMore && lack !== 'next beside more';
    return answer(
      {
        more: hasMore,
        ...(isNamed && { next: `${forgets ? 0 : (last ?? after)}.0.${at}` }),
        ...((lack !== 'an empty list' || page.length > 0) && { objects: page }),
      },
      200,
      last === undefined || lack === 'the header' ? null : new Date(last).toISOString(),
    );
  };
  // Four pages are there before the first request, so that each poll has to follow a page.
  for (let n = 0; n < 4; n += 1) change();
  return {
    get,
    change: async () => {
      for (let n = 0; n < 3; n += 1) change();
      await pause(0);
      return change();
    },
    whole: async () => new Map(entries.map(({ id, modified }) => [id, modified])),
  };
};

const app = sharedApp();
const projecting = sharedProjecting(app);

/** The service, with about 500 events a second coming in: 15 at a time, 5 of which change older records. */
const service = async (organization: string): Promise<Side> => {
  const key = await app.issueKey({ organization });
  const authorization = `Basic ${Buffer.from(`${key}:unused`).toString('base64')}`;
  const get: Get = async (path, query = {}) => {
    const parameters = new URLSearchParams(
      Object.entries(query).flatMap(([name, value]): [string, string][] =>
        value === undefined || value === null ? [] : [[name, `${value}`]],
      ),
    );
    const { status, headers, body } = await app.call(`/taxii2/api/${path}?${parameters}`, {
      headers: { authorization },
    });
    return { status, type: headers.get('content-type'), lastAdded: headers.get('x-taxii-date-added-last'), body };
  };
  let batch = 0;
  const append = async (): Promise<void> => {
    batch += 1;
    const threats = Array.from({ length: 15 }, (_, n) => {
      const number = n < 5 && batch > 1 ? (batch - 2) * 15 + n + 5 : batch * 15 + n;
      return sentThreat(`${organization}-${number}`, {
        organization,
        asset: { type: 'URL', content: `${organization}-${number}.example` },
        status: n === 0 && batch > 1 ? 'REJECTED' : 'BLOCKED',
        createdAt: '2026-03-01T00:00:00.000Z',
        updatedAt: new Date(Date.parse('2026-03-01T00:00:00.000Z') + batch).toISOString(),
      });
    });
    await app.log.appendAll(threats.map(stored));
    await pause(30);
  };
  for (let n = 0; n < 4; n += 1) await append();
  await projecting.reached();
  return {
    get,
    change: async () => {
      for (let n = 0; n < 4; n += 1) await append();
      return batch >= 40;
    },
    whole: async () => {
      await projecting.reached();
      const { rows } = await app.pool.query<{ id: string; at: string }>(
        `select 'indicator--' || record as id, added_at as at from read.register
         where organization = $1 and has_counted`,
        [organization],
      );
      expect(rows.length).toBeGreaterThan(300);
      const states = new Map(rows.map(({ id, at }) => [id, new Date(Number(at)).toISOString()]));
      await eventually('the last millisecond', async () => {
        const last = [...states.values()].reduce((a, b) => (a > b ? a : b));
        const before = new Date(Date.parse(last) - 1).toISOString();
        return (await get(OBJECTS, { added_after: before })).body.objects.length > 0;
      });
      return states;
    },
  };
};

describe.each(CLIENTS)('The loop of %s', (name, client, needs) => {
  const organization = `client-${CLIENTS.findIndex((each) => each[0] === name)}`;

  it('copies all objects of the service while events come in, and then idles', async () => {
    expect(await faultsOf(client, await service(organization))).toEqual([]);
  });

  it('copies all objects of a server that has what it needs', async () => {
    expect(await faultsOf(client, fakeServer())).toEqual([]);
  });

  it.each(needs)('fails at a server that lacks %s', async (lack) => {
    expect(await faultsOf(client, fakeServer(lack))).not.toEqual([]);
  });
});
