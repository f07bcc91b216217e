import { BRANDS, edgeInstant } from '../../test/support/histories.js';
import type { Random } from '../../test/support/random.js';
import { SOURCE } from '../../test/support/upstream.js';
import { READERS, type Stored } from './random-log.js';

/** A request that reads. */
export interface ReadRequest {
  /** The operation id of the API reference. */
  readonly operation: string;
  /** With the query. */
  readonly path: string;
  /** The body, as JSON. */
  readonly json?: object | undefined;
  readonly accept?: string | undefined;
  /** The organization of the key; undefined: the key for all upstream events. */
  readonly organization?: string;
}

type Draft = Omit<ReadRequest, 'operation' | 'organization'>;

const ORGANIZATION = '/v2/organization';
const TAXII = '/taxii2/api';
const TAXII_TYPE = 'application/taxii+json;version=2.1';
const STATUSES = ['APPROVED', 'BLOCKED', 'WATCHLISTED', 'COMPLETED', 'TODO', 'OPEN', 'ACCEPTED', 'REJECTED', 'NEWER'];
const TYPES = ['URL', 'PAGE', 'ADDRESS', 'TWITTER', 'NEW_KIND'];
const LISTS = {
  Report: `${ORGANIZATION}/report`,
  Threat: `${ORGANIZATION}/threat`,
  Takedown: `${ORGANIZATION}/takedown`,
  Verdict: `${ORGANIZATION}/verdict`,
  Dispute: '/v2/asset/dispute',
};

const query = (path: string, parameters: Readonly<Record<string, string | undefined>>): string => {
  const given = Object.entries(parameters).filter((each): each is [string, string] => each[1] !== undefined);
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
};

/** Creates requests about what is stored. Every request has an end date, so its response does not depend on its time. */
class Drafts {
  constructor(
    private readonly random: Random,
    private readonly stored: Stored,
    private readonly indicators: readonly string[],
  ) {}

  private maybe<T>(probability: number, make: () => T): T | undefined {
    return this.random.chance(probability) ? make() : undefined;
  }

  private range(): { startDate: string | undefined; endDate: string } {
    const { random } = this;
    const instant = (): number => (random.chance(0.1) ? random.pick(this.stored.moments) : edgeInstant(random));
    const [from, to] = [Math.max(0, instant()), Math.max(0, instant())].sort((a, b) => a - b) as [number, number];
    const wide = random.chance(0.3);
    const text = (at: number): string => new Date(at).toISOString().slice(0, random.chance(0.3) ? 10 : 24);
    return {
      startDate: wide && random.chance(0.5) ? undefined : text(wide ? 0 : from),
      endDate: wide ? '2027-01-01' : text(to),
    };
  }

  private brand(): string | undefined {
    return this.maybe(0.4, () => this.random.pick([...BRANDS, ...BRANDS, 'later', 'removed', 'unknown']));
  }

  private moment(): string {
    return new Date(this.random.pick(this.stored.moments)).toISOString();
  }

  private limit(): string {
    return String(1 + this.random.int(this.random.chance(0.5) ? 20 : 1_000));
  }

  private selection(kind: string): Record<string, string | undefined> {
    const { random } = this;
    const names = (of: readonly string[]): string => [random.pick(of), random.pick(of)].join(',');
    const hasAsset = kind !== 'Report';
    return {
      ...this.range(),
      brandSlug: kind === 'Threat' || kind === 'Dispute' ? undefined : this.brand(),
      status: hasAsset ? this.maybe(0.3, () => names(STATUSES)) : undefined,
      assetType: hasAsset ? this.maybe(0.2, () => names(TYPES)) : undefined,
      content: hasAsset ? this.maybe(0.2, () => random.pick(this.stored.contents)) : undefined,
    };
  }

  private recordId(kind: string): string {
    if (kind === 'Dispute') return this.random.pick([...this.stored.disputes, 'unknown']);
    const field = { Report: 'reportId', Threat: 'threatId', Takedown: 'takedownId', Verdict: 'changeId' }[kind]!;
    for (let n = 0; n < 100; n += 1) {
      const id = this.random.pick(this.stored.events).data[field];
      if (typeof id === 'string') return encodeURIComponent(id);
    }
    return 'unknown';
  }

  private metrics(path: string, more: Record<string, string | undefined> = {}): Draft {
    return { path: query(`${ORGANIZATION}/${path}`, { ...this.range(), brandSlug: this.brand(), ...more }) };
  }

  private restated(of: string): Draft {
    const [from, to] = [this.moment(), this.moment()].sort() as [string, string];
    const limit = of === '/records' ? this.limit() : undefined;
    return this.metrics(`metrics/restatement${of}`, { from, to: this.maybe(0.7, () => to), limit });
  }

  private group(): string {
    return `${ORGANIZATION}/asset-groups/${1 + this.random.int(5)}`;
  }

  private taxii(path: string): Draft {
    const { random } = this;
    const parameters = {
      limit: this.limit(),
      added_after: this.maybe(0.3, () => this.moment()),
      'match[id]': this.maybe(0.1, () => random.pick(this.indicators)),
    };
    const collection = `${TAXII}/collections/${random.pick(['threats', 'threats', 'verdicts'])}`;
    return { path: query(`${collection}${path}`, parameters), accept: TAXII_TYPE };
  }

  /** The makers of requests, by operation id. */
  byOperation(): Readonly<Record<string, () => Draft>> {
    const { random, stored } = this;
    const content = (): string => random.pick(stored.contents);
    const object = (): string => `/objects/${random.pick(this.indicators)}`;
    const webhook = (): string => `${ORGANIZATION}/webhooks/${random.pick([...stored.webhooks, 'wh_unknown'])}`;
    const day = (): string | undefined =>
      this.maybe(0.5, () => new Date(stored.moments[0]!).toISOString().slice(0, 10));
    const lists = Object.entries(LISTS).flatMap(([kind, path]): [string, () => Draft][] => [
      [`list${kind}s`, () => ({ path: query(`${path}s`, { ...this.selection(kind), limit: this.limit() }) })],
      [`get${kind}Table`, () => ({ path: query(`${path}s.csv`, this.selection(kind)) })],
      [`get${kind}`, () => ({ path: `${path}s/${this.recordId(kind)}` })],
    ]);
    return {
      ...Object.fromEntries(lists),
      checkAsset: () => ({ path: '/v2/asset/check', json: { content: content() } }),
      checkAssets: () => ({
        path: '/v2/asset/check/bulk',
        json: { contents: random.shuffled(stored.contents).slice(0, 20) },
      }),
      getAssetHistory: () => ({ path: '/v2/asset/history', json: { content: content() } }),
      getOrganization: () => ({ path: ORGANIZATION }),
      listBrands: () => ({ path: `${ORGANIZATION}/brands` }),
      getMetrics: () => this.metrics('metrics', { knownAt: this.maybe(0.4, () => this.moment()) }),
      getTimeline: () => this.metrics('metrics/timeline', { interval: random.pick(['week', 'month', 'year']) }),
      getTimelineTable: () =>
        this.metrics('metrics/timeline.csv', { interval: random.pick(['week', 'month', 'year']) }),
      compareMetrics: () => this.metrics('metrics/comparison', { with: random.pick(['previous', 'year']) }),
      getFalsePositives: () => ({ path: query(`${ORGANIZATION}/metrics/false-positives`, this.range()) }),
      getRestatement: () => this.restated(''),
      listRestatedRecords: () => this.restated('/records'),
      getRestatedRecordsTable: () => this.restated('/records.csv'),
      getTakedownStatistics: () => this.metrics('takedowns/statistics'),
      getFeed: () => {
        const types = this.maybe(0.5, () => random.pick(['report', 'threat,verdict', 'takedown', 'dispute']));
        return { path: query(`${ORGANIZATION}/feed`, { limit: this.limit(), types }) };
      },
      listAssetGroups: () => ({ path: `${ORGANIZATION}/asset-groups` }),
      getAssetGroup: () => ({ path: this.group() }),
      listGroupAssets: () => ({ path: query(`${this.group()}/assets`, { limit: this.limit() }) }),
      listWebhooks: () => ({ path: `${ORGANIZATION}/webhooks` }),
      getWebhook: () => ({ path: webhook() }),
      listWebhookAttempts: () => ({ path: `${webhook()}/attempts` }),
      listRejectedEvents: () => ({ path: query('/v2/events/rejected', { from: day() }) }),
      listParkedEvents: () => ({ path: '/v2/events/parked' }),
      getEventUsage: () => ({ path: query('/v2/events/usage', { from: day() }) }),
      getEventStatus: () => {
        const asked = Array.from({ length: 1 + random.int(30) }, () => random.pick(stored.events));
        const events = asked.map(({ id, type, data }) => ({ source: SOURCE, id, type, data }));
        return { path: '/v2/events/status', json: { events } };
      },
      getTaxiiObjects: () => this.taxii('/objects'),
      getTaxiiManifest: () => this.taxii('/manifest'),
      getTaxiiObject: () => this.taxii(object()),
      getTaxiiVersions: () => this.taxii(`${object()}/versions`),
    };
  }
}

/** Returns random requests, about as many of each operation. */
export const randomRequests = (
  random: Random,
  stored: Stored,
  indicators: readonly string[],
  count: number,
): ReadRequest[] => {
  const makers = Object.entries(new Drafts(random, stored, indicators).byOperation());
  return Array.from({ length: count }, (_, n) => {
    const [operation, make] = makers[n % makers.length]!;
    const isOfSender = /Events|EventUsage|EventStatus/.test(operation);
    return { operation, ...make(), ...(!isOfSender && { organization: random.pick(READERS) }) };
  });
};
