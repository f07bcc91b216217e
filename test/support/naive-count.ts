import { createHash } from 'node:crypto';
import { SOURCE, type Sent } from './upstream.js';

/**
 * A naive implementation of the metrics that shares no code with the service: it folds every record to its newest
 * state, and then checks all records for each number.
 */

const URL_NAMESPACE = Buffer.from('6ba7b8119dad11d180b400c04fd430c8', 'hex');

const uuid5 = (name: string): string => {
  const hash = createHash('sha1').update(URL_NAMESPACE).update(name).digest().subarray(0, 16);
  hash[6] = (hash[6]! & 0x0f) | 0x50;
  hash[8] = (hash[8]! & 0x3f) | 0x80;
  const hex = hash.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
};

export interface State {
  readonly type: string;
  readonly data: Record<string, any>;
  /** The values that determine which state is later, most significant first. */
  readonly rank: readonly [instant: number, deleted: number, eventId: string];
}

const recordKey = ({ type, data }: Sent): string => {
  if (type.startsWith('Report')) return `report ${data['organization']} ${data['reportId']}`;
  if (type.startsWith('Threat')) return `threat ${data['organization']} ${data['threatId']}`;
  if (type.startsWith('Takedown')) return `takedown ${data['organization']} ${data['takedownId']}`;
  return `entry ${data['changeId']}`;
};

/**
 * The contents in these histories are hosts and names, which equal their keys. The key of a page without a path is its
 * host.
 */
const keyOf = ({ type, content }: { type: string; content: string }): string =>
  `${type === 'PAGE' ? 'URL' : type}:${content}`;

const streamOf = ({ type, data }: Sent): string => {
  if (type.startsWith('Report')) return `report-${data['organization']}:${data['reportId']}`;
  if (type.startsWith('Threat')) return `threat-${data['organization']}:${data['threatId']}`;
  if (type.startsWith('Takedown')) return `takedown-${data['organization']}:${data['takedownId']}`;
  return `assetStatus-${createHash('sha256')
    .update(keyOf(data['asset'] as { type: string; content: string }))
    .digest('hex')
    .slice(0, 32)}`;
};

/** The order of states with the same instant. */
export const naiveEventId = (event: Sent): string => uuid5([SOURCE, event.id, event.type, streamOf(event)].join('\n'));

const rankOf = (event: Sent): State['rank'] => {
  const { type, data } = event;
  if (type === 'AssetStatusChangeDeleted') return [Infinity, 1, ''];
  const text = data['deletedAt'] ?? (type === 'AssetStatusChanged' ? data['createdAt'] : data['updatedAt']);
  return [new Date(text as string).getTime(), data['deletedAt'] === undefined ? 0 : 1, naiveEventId(event)];
};

const isLater = (a: State['rank'], b: State['rank']): boolean => {
  if (a[0] !== b[0]) return a[0] > b[0];
  if (a[1] !== b[1]) return a[1] > b[1];
  return a[2] > b[2];
};

export const newestStates = (events: readonly Sent[]): State[] => {
  const states = new Map<string, State>();
  for (const event of events) {
    const key = recordKey(event);
    const rank = rankOf(event);
    const known = states.get(key);
    if (!known || isLater(rank, known.rank)) states.set(key, { type: event.type, data: event.data, rank });
  }
  return [...states.values()].filter(({ type }) => !type.endsWith('Deleted'));
};

/** Both ends inclusive, in ms. */
export interface Query {
  readonly organization: string;
  readonly brand: string | undefined;
  readonly from: number;
  readonly to: number;
}

export const naiveCount = (states: readonly State[], { organization, brand, from, to }: Query) => {
  const isIn = (text: string): boolean => new Date(text).getTime() >= from && new Date(text).getTime() <= to;
  const ofOrganization = (type: RegExp): State[] =>
    states.filter((state) => type.test(state.type) && state.data['organization'] === organization);
  const takedowns = ofOrganization(/^Takedown/).filter(({ data }) =>
    brand === undefined ? isIn(data['createdAt']) : data['brand'] === brand && isIn(data['updatedAt']),
  );
  const threats =
    brand === undefined
      ? ofOrganization(/^Threat/).filter(({ data }) =>
          ['BLOCKED', 'APPROVED', 'AUTO_APPROVED'].includes(data['status']),
        )
      : states.filter(
          ({ type, data }) =>
            type === 'AssetStatusChanged' &&
            data['status'] === 'BLOCKED' &&
            data['brandReviews'].some((review: any) => review.organization === organization && review.brand === brand),
        );
  const blocked = threats.filter(({ data }) => isIn(data['createdAt']));
  const tally = (keyOf: (state: State) => string): [string, number][] => {
    const counts: Record<string, number> = {};
    for (const state of blocked) counts[keyOf(state)] = (counts[keyOf(state)] ?? 0) + 1;
    return Object.entries(counts);
  };
  const ofTypes = (...types: string[]): number =>
    blocked.filter(({ data }) => types.includes(data['asset'].type)).length;
  return {
    metrics: {
      reports: ofOrganization(/^Report/).filter(
        ({ data }) => isIn(data['createdAt']) && (brand === undefined || (data['brands'] ?? []).includes(brand)),
      ).length,
      newThreats: blocked.length,
      threatsWatchlisted:
        brand === undefined
          ? ofOrganization(/^Threat/).filter(({ data }) => data['status'] === 'WATCHLISTED' && isIn(data['createdAt']))
              .length
          : 0,
      takedownsFiled: takedowns.length,
      takedownsCompleted: takedowns.filter(({ data }) => data['status'] === 'COMPLETED').length,
      domainThreats: ofTypes('URL', 'PAGE'),
      twitterThreats: ofTypes('TWITTER'),
      telegramThreats: ofTypes('TELEGRAM'),
      otherThreats: blocked.length - ofTypes('URL', 'PAGE', 'TWITTER', 'TELEGRAM'),
    },
    blockedByType: tally(({ data }) => data['asset'].type)
      .sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
      .map(([type, count]) => ({ type, count })),
    blockedByDay: tally(({ data }) => new Date(data['createdAt']).toISOString().slice(0, 10))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([date, count]) => ({ date, count })),
  };
};

export const METRICS_OF_RECORDS = [
  'reports',
  'newThreats',
  'threatsWatchlisted',
  'takedownsFiled',
  'takedownsCompleted',
] as const;

interface Counted {
  readonly metric: string;
  readonly type: string | null;
  readonly at: string;
}

/** As what a state without others counts. */
const countedAs = (state: State, query: Query): Counted[] => {
  const { data, type } = state;
  if (type.endsWith('Deleted')) return [];
  const counted: Counted[] = [];
  for (const text of new Set([data['createdAt'], data['updatedAt']]) as Set<string | undefined>) {
    const instant = text === undefined ? NaN : new Date(text).getTime();
    if (!(instant >= query.from && instant <= query.to)) continue;
    const { metrics } = naiveCount([state], { ...query, from: instant, to: instant });
    for (const metric of METRICS_OF_RECORDS)
      if (metrics[metric] > 0 && !counted.some((each) => each.metric === metric))
        counted.push({
          metric,
          type: metric === 'newThreats' ? data['asset'].type : null,
          at: new Date(instant).toISOString(),
        });
  }
  return counted;
};

/** Everything that tells a state from another one for this organization, as text. */
const seenBy = (organization: string, state: State): string => {
  const { data } = state;
  const reviewed = ((data['brandReviews'] ?? []) as { readonly brand: string }[]).map(({ brand }) => brand);
  const brands = [...new Set([undefined, data['brand'], ...(data['brands'] ?? []), ...reviewed])].sort(
    (a = '', b = '') => (a < b ? -1 : 1),
  );
  const always = { organization, from: -Infinity, to: Infinity };
  const facts = brands.map((brand) => [brand, countedAs(state, { ...always, brand })] as const);
  return JSON.stringify([state.type.endsWith('Deleted'), facts.filter(([, counted]) => counted.length > 0)]);
};

/**
 * The newest state of each record that concerns the organization, as what it counts in the range, and the positions of the
 * record's first event and of the event since which the organization has seen this state.
 * @param events the events up to a position, from the beginning of the log
 */
export const naiveLast = (events: readonly Sent[], query: Query) => {
  const { organization } = query;
  const records = new Map<string, { kind: string; id: string; state: State; seen: string; last: number }>();
  const concerned = new Map<string, number>();
  const KINDS = { report: 'report', threat: 'threat', takedown: 'takedown', entry: 'verdict' } as const;
  for (const [position, event] of events.entries()) {
    const key = recordKey(event);
    const isOwn = key.startsWith('entry')
      ? (event.data['brandReviews'] as any[] | undefined)?.some((review) => review.organization === organization)
      : event.data['organization'] === organization;
    if (isOwn === true && !concerned.has(key)) concerned.set(key, position);
    const data = event.data as Record<string, any>;
    const state = { type: event.type, data, rank: rankOf(event) };
    const known = records.get(key);
    if (known && !isLater(state.rank, known.state.rank)) continue;
    const seen = isOwn === true ? seenBy(organization, state) : 'not concerned';
    const kind = KINDS[key.split(' ')[0] as keyof typeof KINDS];
    const id = (data['reportId'] ?? data['threatId'] ?? data['takedownId'] ?? data['changeId']) as string;
    records.set(key, { kind, id, state, seen, last: known?.seen === seen ? known.last : position });
  }
  return new Map(
    [...records].flatMap(([key, { kind, id, state, last }]) => {
      const first = concerned.get(key);
      const record = { kind, id, first: first!, last, counted: countedAs(state, query) };
      return first === undefined ? [] : [[`${kind} ${id}`, record] as const];
    }),
  );
};
