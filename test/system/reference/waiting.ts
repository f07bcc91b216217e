import { duration, numberOf, readSource } from './constants.js';
import { concurrency, Sources } from './limits.js';

/** One place where a request can wait or be refused. */
interface Row {
  readonly what: string;
  /** The value with its unit: per address, key, organization or process. */
  readonly limit: (sources: Sources) => string;
  readonly routes: string;
  readonly answer: () => string;
  /** The file, if `limit` reads no constant of it. */
  readonly file?: string;
  /** A metric that counts the place apart from the other responses; the name without the prefix. */
  readonly metric?: readonly [path: string, name: string];
}

/**
 * Returns the beginning of a message, as the page shows it.
 * @throws Error if the file does not contain the message
 */
const message = (path: string, text: string): string => {
  if (!readSource(path).includes(text)) throw new Error(`${path} has no message "${text}"`);
  return `_${text.replaceAll(/\$\{[^}]*\}/g, '…')}_`;
};

/** `retryAfter` is in seconds, or says what the seconds depend on. */
const refused = (status: 429 | 503, retryAfter: number | string, path: string, text: string): string =>
  `${status}, \`Retry-After\` ${retryAfter}: ${message(path, text)}`;

const metricName = ([path, name]: readonly [path: string, name: string]): string => {
  if (!readSource(path).includes(`threat_protection_${name}`)) throw new Error(`${path} has no metric ${name}`);
  return `\`${name}\``;
};

const CONNECTIONS = 'src/http/connections.ts';
const CONCURRENCY = 'src/flow/concurrency-limit.ts';
const BUDGET = 'src/flow/budgets.ts';
const WAITING = 'src/flow/concurrency-limit.ts';
const COMMANDS = 'src/event-log/command-queue.ts';
const TAIL = 'src/event-log/read-streams.ts';
const BYTES = 'src/http/byte-limits.ts';
const BODY = 'src/http/body/body-reader.ts';
const TOKEN = 'src/http/consistency.ts';
const KEYS = 'src/api-keys/key-ring.ts';
const ADDRESSES = 'src/http/access/check-access.ts';
const SLOW = 'src/http/connections.ts';
const POOLS = 'src/read-models/pools.ts';
const POOL = 'src/postgres/pool.ts';
const RECORDS = 'src/records/record-queries.ts';
const METRICS = 'src/metrics/metrics-queries.ts';
const BACKFILL = 'src/records/record-queries.ts';
const EXPORT = 'src/records/export-records.ts';
const LOOKUPS = 'src/asset-check/lookup-source.ts';
const QUOTA = 'src/quotas/daily-quota.ts';
const PRESSURE = 'src/ingestion/receive/backpressure.ts';
const GROUPS = 'src/asset-groups/list-asset-groups.ts';
const MEMBERS = 'src/asset-groups/change-membership.ts';
const WEBHOOKS = 'src/webhooks/webhook-commands.ts';
const DISPUTES = 'src/disputes/file-dispute.ts';
const TEST = 'src/webhooks/test-webhook.ts';
const DATABASE = 'src/postgres/transient-errors.ts';

const ALL = 'all';
const WITH_KEY = '`/v2/…`';
const GROUP_ROUTES = '`/v2/organization/asset-groups…`';
const CHANGES = 'changes of groups, webhooks and disputes';
const APPENDING = '`POST /v2/events`; changes of groups, members, webhooks and disputes';

/** The response of `ConcurrencyLimit`. */
const queue = (): string => '`queue`';
/** The response of `ByteBudget`. */
const budget = (): string => '`memory`';
const database = (): string => refused(503, 1, DATABASE, 'The database did not answer; try again');
const poolMetric = ['src/http/ops/prometheus.ts', 'database_pool_connections'] as const;

/** In the order in which a request meets them. */
const TABLES: Readonly<Record<string, readonly Row[]>> = {
  'Before the handler': [
    {
      what: 'open connections',
      limit: (sources) => `${sources.countSet('MAX_CONNECTIONS_PER_ADDRESS')} per address; none with \`TRUST_PROXY\``,
      routes: ALL,
      answer: () => 'connection reset',
      metric: [CONNECTIONS, 'http_connections_refused_total'],
    },
    {
      what: 'pipelined requests that wait for the response to an earlier one',
      limit: (sources) => `${sources.count('src/http/connections.ts', 'MAX_PIPELINED')} per connection`,
      routes: ALL,
      answer: () => 'connection reset',
      metric: [CONNECTIONS, 'http_connections_pipelined_total'],
    },
    {
      what: 'arrival of the headers; of the whole request',
      limit: (sources) =>
        `${sources.duration('src/http/server.ts', 'headersTimeout')}; ${sources.duration('src/http/server.ts', 'requestTimeout')}, per request`,
      routes: ALL,
      answer: () => '408, then the connection is closed; no `Retry-After`',
    },
    {
      what: 'a turn on the event loop; also before each later step that takes long',
      limit: (sources) =>
        `turns of ${sources.duration('src/flow/turns.ts', 'MAX_TURN_MS')}, or ${sources.duration('src/flow/turns.ts', 'MAX_BUSY_TURN_MS')} while others wait; least used organization (without a key: one for all) first`,
      routes: 'all but `/health/…` and `/metrics`',
      answer: () => 'waits',
    },
    {
      what: 'API keys that have not been read since the start',
      limit: () => 'per process',
      file: KEYS,
      routes: WITH_KEY,
      answer: () => refused(503, 1, KEYS, 'The API keys have not been loaded yet; try again'),
    },
    {
      what: 'an unknown key, which may have been issued just now',
      limit: (sources) =>
        `${sources.count(KEYS, 'MAX_WAITING')} requests per process, each up to ${sources.duration(KEYS, 'MAX_WAIT_FOR_READ_MS')}`,
      routes: WITH_KEY,
      answer: () => '401, or 429 as in the next row',
    },
    {
      what: 'requests without a valid key',
      limit: (sources) => `${sources.countSet('UNAUTHENTICATED_RATE_LIMIT_PER_MINUTE')} a minute per address`,
      routes: 'all but `/health/…` and `/metrics`',
      answer: () => refused(429, 'until the minute ends', ADDRESSES, 'Too many requests from this address without'),
    },
    {
      what: 'requests with a key',
      limit: (sources) => `${sources.countSet('RATE_LIMIT_PER_MINUTE')} a minute per key`,
      routes: WITH_KEY,
      answer: () => refused(429, 'until the minute ends', 'src/errors.ts', 'Rate limit exceeded for this key'),
    },
    {
      what: 'read models that have not reached the `Consistency-Token`',
      limit: () =>
        `${duration(numberOf(TOKEN, 'DEFAULT_WAIT_SECONDS') * 1_000)} per request, up to ${duration(numberOf(TOKEN, 'MAX_WAIT_SECONDS') * 1_000)} with \`Prefer: wait\``,
      file: TOKEN,
      routes: 'routes with `reads` in `@Access`',
      answer: () => refused(503, 1, TOKEN, 'The service has not reached the state of this Consistency-Token'),
    },
    {
      what: 'requests that wait for a token or at the feed, together',
      limit: (sources) =>
        `${sources.count(WAITING, 'MAX_OF_ORGANIZATION')} per organization; ${sources.count(WAITING, 'MAX_IN_ALL')} per process`,
      routes: 'as above, and `GET …/feed` with `timeout`',
      answer: () =>
        `${refused(429, 1, WAITING, 'At most ${MAX_OF_ORGANIZATION} requests of an organization may wait')}; 503 for the process`,
    },
    {
      what: 'bytes of bodies that are received or processed',
      limit: (sources) =>
        `${sources.bytes(BYTES, 'BODIES.perOwner')} per organization, as announced; ${sources.bytes(BYTES, 'BODIES.total')} per process, as received`,
      routes: 'requests with a body',
      answer: budget,
    },
    {
      what: 'decompression of a chunk of a gzip body',
      limit: (sources) => concurrency(sources, BODY, 'DECOMPRESSION'),
      routes: 'requests with a gzip body',
      answer: queue,
    },
    {
      what: 'arrival of a body while bodies take more than half of their memory',
      limit: (sources) => sources.duration('src/http/body/body-reader.ts', 'LOW_MEMORY_TIMEOUT_MS'),
      routes: 'requests with a body',
      answer: () => '408; no `Retry-After`',
    },
  ],
  'In the handler': [
    {
      what: 'queries that are neither metrics, lists nor the feed',
      limit: (sources) => concurrency(sources, 'src/read-models/request-concurrency.ts', 'CONCURRENCY'),
      routes:
        'reads of groups, members, webhooks, brands, the organization and an asset’s history; `/v2/events/…`; dry runs',
      answer: queue,
    },
    {
      what: 'metrics queries',
      limit: (sources) => concurrency(sources, METRICS, 'CONCURRENCY'),
      routes: '`…/metrics…`, `…/takedowns/statistics`',
      answer: queue,
    },
    {
      what: 'tables of the records that are filled for the first time',
      limit: () => 'per process, until they include all earlier events',
      file: BACKFILL,
      routes: 'lists, feed and CSV of records; objects, manifest and versions of TAXII',
      answer: () =>
        refused(
          503,
          numberOf(BACKFILL, 'RETRY_AFTER_SECONDS'),
          BACKFILL,
          'The lists are not complete yet: ${progress}',
        ),
    },
    {
      what: 'lists of records',
      limit: (sources) => concurrency(sources, RECORDS, 'concurrency'),
      routes: '`…/threats`, `…/takedowns`, `…/reports`, one record; objects, manifest and versions of TAXII',
      answer: queue,
    },
    {
      what: 'the end of the last millisecond of the log, with a token',
      limit: (sources) => sources.duration('src/records/taxii/read-objects.ts', 'WAIT_MS'),
      routes: 'objects, manifest and versions of TAXII',
      answer: () =>
        refused(503, 1, 'src/http/consistency.ts', 'The service has not reached the state of this Consistency-Token'),
    },
    {
      what: 'queries of the feed',
      limit: (sources) => concurrency(sources, RECORDS, 'feedConcurrency'),
      routes: '`GET …/feed`',
      answer: queue,
    },
    {
      what: 'new elements of the feed',
      limit: () => 'the parameter `timeout`, up to 25 s per request',
      file: 'src/records/feed/feed-watch.ts',
      routes: '`GET …/feed`',
      answer: () => '200 with no elements',
    },
    {
      what: 'CSV exports of records',
      limit: (sources) => `1 per organization; ${sources.count(EXPORT, 'MAX_CONCURRENT_EXPORTS')} per process`,
      routes: '`….csv` of records',
      answer: () => {
        const [own, all] = ['A CSV export of this organization is running', 'Too many CSV exports are running'];
        return `${refused(429, 5, EXPORT, own)}; ${refused(503, 5, EXPORT, all)}`;
      },
    },
    {
      what: 'a connection of the read models; a replica gets less and is then replaced by the primary',
      limit: (sources) =>
        `metrics ${sources.count(POOLS, 'METRICS.max')}, lists and feed ${sources.count(POOLS, 'RECORDS.max')}, exports ${sources.count(POOLS, 'EXPORTS.max')} per process, each for ${sources.duration(POOLS, 'METRICS.connectionTimeoutMillis')}; all else ${sources.count(POOLS, 'createRequestPool.max')}, for ${sources.duration(POOL, 'LIMITS.connectionTimeoutMillis')}`,
      routes: 'all that read tables',
      answer: database,
      metric: poolMetric,
    },
    {
      what: 'a statement on the read models',
      limit: (sources) =>
        `metrics and records ${sources.duration(POOLS, 'METRICS.statement_timeout')}; all else ${sources.duration(POOL, 'LIMITS.statement_timeout')} at most`,
      routes: 'all that read tables',
      answer: () =>
        `${refused(503, 60, METRICS, 'Counting this range takes too long')}, ${message(RECORDS, 'Reading this selection takes too long')}, or as in the row above`,
    },
    {
      what: 'own statuses that have not reached the `Consistency-Token`: read once more, then refused',
      limit: () => 'per process',
      file: 'src/asset-check/own/own-statuses.ts',
      routes: '`/v2/asset/…`',
      answer: () => refused(503, 1, TOKEN, 'The service has not reached the state of this Consistency-Token'),
    },
    {
      what: 'bulk checks',
      limit: (sources) => concurrency(sources, 'src/asset-check/asset-check.controller.ts', 'BULK_CHECKS'),
      routes: '`/v2/asset/check/bulk`',
      answer: queue,
    },
    {
      what: 'lookups at one source, within the time budget of the check',
      limit: (sources) =>
        `${sources.count(LOOKUPS, 'MAX_REQUESTS_OF_ORGANIZATION')} per organization, ${sources.count(LOOKUPS, 'MAX_CONCURRENT_REQUESTS')} per process; bulk up to ${sources.duration('src/asset-check/asset-checker.ts', 'MAX_BUDGET_MS')}`,
      routes: '`/v2/asset/check…`',
      answer: () => '200; the source reports `timeout`',
      metric: ['src/asset-check/sources/configured-sources.ts', 'asset_check_lookups_total'],
    },
    {
      what: 'events and bytes of the UTC day',
      limit: (sources) =>
        `${sources.countSet('INGEST_EVENTS_PER_DAY')} and ${sources.bytesSet('INGEST_BYTES_PER_DAY')} per organization, in all processes; the first request of a day waits ${sources.duration(QUOTA, 'READ_TIMEOUT_MS')} for the total`,
      routes: `${APPENDING}; not with keys without an organization`,
      answer: () => refused(429, 'until midnight UTC', QUOTA, '${organization} has used its quota of'),
      metric: [QUOTA, 'ingest_quota_refusals_total'],
    },
    {
      what: 'facts that wait to be counted',
      limit: (sources) =>
        `${sources.count(PRESSURE, 'LIMITS.backlog')} per process, at least ${sources.count(PRESSURE, 'LIMITS.alwaysAdmitted')} per organization; held ${sources.duration(PRESSURE, 'newHoldBudget.counting')}, or ${sources.duration(PRESSURE, 'newHoldBudget.total')} if the log is the cause; ${sources.count(PRESSURE, 'MAX_HELD_REQUESTS')} requests held per process`,
      routes: '`POST /v2/events`',
      answer: () =>
        refused(429, numberOf(PRESSURE, 'RETRY_AFTER_SECONDS'), PRESSURE, 'Too many events are waiting to be counted'),
    },
    {
      what: 'an append to the log in PostgreSQL: one statement at a time per process',
      limit: (sources) =>
        `${sources.count('src/event-log/postgres/writer.ts', 'MAX_EVENTS')} events per statement; ${sources.duration('src/event-log/postgres/writer.ts', 'TIMEOUT_MS')}`,
      routes: APPENDING,
      answer: database,
      metric: ['src/event-log/open-event-log.ts', 'log_append_duration_seconds'],
    },
    {
      what: 'calls of EventStoreDB',
      limit: (sources) =>
        `${sources.count('src/event-log/eventstoredb/connection.ts', 'MAX_APPENDS')} appends, ${sources.count('src/event-log/eventstoredb/connection.ts', 'MAX_READS')} reads per process; ${sources.duration('src/event-log/eventstoredb/writer.ts', 'TIMEOUT_MS')} per append`,
      routes: 'as above, and all that read the log',
      answer: () => '503, `Retry-After` 1, with the reason',
      metric: ['src/event-log/open-event-log.ts', 'log_append_duration_seconds'],
    },
    {
      what: 'changes of groups; of webhooks; of disputes',
      limit: (sources) =>
        `${sources.count('src/asset-groups/group-commands.ts', 'MAX_WAITING')}; ${sources.count(WEBHOOKS, 'MAX_WAITING')}; ${sources.count(DISPUTES, 'MAX_WAITING')} waiting per organization`,
      routes: CHANGES,
      answer: () => refused(429, 1, COMMANDS, 'Too many changes of the ${name} of this organization are waiting'),
    },
    {
      what: 'other processes that keep changing the same stream',
      limit: (sources) => `${sources.duration(COMMANDS, 'MAX_CONFLICT_MS')} per append`,
      routes: CHANGES,
      answer: () => refused(503, 1, COMMANDS, 'Too many concurrent changes to the ${rules.name} of this organization'),
    },
    {
      what: 'events of groups, of webhooks, of disputes, that the read model lacks',
      limit: (sources) =>
        `${sources.count('src/asset-groups/load-groups.ts', 'MAX_TAIL')}; ${sources.count('src/webhooks/load-webhooks.ts', 'MAX_TAIL')}; ${sources.count('src/disputes/file-dispute.ts', 'MAX_TAIL')} per organization`,
      routes: `${GROUP_ROUTES}, \`…/webhooks…\`, \`POST …/disputes\``,
      answer: () =>
        refused(503, numberOf(TAIL, 'RETRY_AFTER_SECONDS'), TAIL, 'The read model of these ${name} is too far behind'),
    },
    {
      what: 'contents of waiting changes of group members',
      limit: (sources) =>
        `${sources.count(MEMBERS, 'MAX_WAITING')} per organization; ${sources.duration(MEMBERS, 'MAX_WAIT_MS')} per request`,
      routes: '`…/asset-groups/{id}/assets`, `…/assets/remove`',
      answer: () =>
        refused(
          429,
          numberOf(MEMBERS, 'RETRY_AFTER_SECONDS'),
          MEMBERS,
          'Too many changes of this organization are waiting',
        ),
    },
    {
      what: 'the read model, before and after a change of members; after a change of webhooks',
      limit: (sources) =>
        `${sources.duration(MEMBERS, 'PROJECTION_TIMEOUT_MS')}; ${sources.duration(WEBHOOKS, 'PROJECTION_TIMEOUT_MS')} per request`,
      routes: 'changes of members and webhooks',
      answer: () =>
        `${refused(503, 1, MEMBERS, 'The change may be stored, but has not taken effect yet')}; ${message(WEBHOOKS, 'The change is stored, but has not taken effect yet')}`,
    },
    {
      what: 'verdicts of disputes, when a dispute is filed or listed',
      limit: (sources) => concurrency(sources, 'src/asset-check/check-assets.ts', 'VERDICTS'),
      routes: '`…/disputes…`',
      answer: queue,
    },
    {
      what: 'the read model, after a dispute is filed',
      limit: (sources) => `${sources.duration(DISPUTES, 'PROJECTION_TIMEOUT_MS')} per request`,
      routes: '`POST …/disputes`',
      answer: () => '201; the list may not have the dispute yet',
    },
    {
      what: 'lists of groups above 1 MiB, from the first slice to the last; a slice of such a list',
      limit: (sources) =>
        `${concurrency(sources, GROUPS, 'CONCURRENCY')}; ${sources.count(GROUPS, 'MAX_CONCURRENT_READS')} slices at a time per process`,
      routes: '`GET …/asset-groups`',
      answer: () => '`queue`; a slice waits',
    },
    {
      what: 'tests of webhooks; the response of the endpoint',
      limit: (sources) =>
        `${concurrency(sources, TEST, 'CONCURRENCY')}; ${sources.duration(TEST, 'RESULT_TIMEOUT_MS')}, or ${sources.duration(TEST, 'NO_PROCESS_TIMEOUT_MS')} if no delivery process runs`,
      routes: '`POST …/webhooks/{id}/test`',
      answer: () =>
        `\`queue\`; ${refused(503, numberOf(TEST, 'RETRY_AFTER_SECONDS'), TEST, 'The webhook delivery process did not respond')}`,
    },
  ],
  'After the handler': [
    {
      what: 'compression of a response',
      limit: (sources) => `${sources.count('src/http/responses/accept.ts', 'MAX_CONCURRENT')} at a time per process`,
      routes: 'responses as text',
      answer: () => 'sent uncompressed',
    },
    {
      what: 'bytes of responses that clients have not read',
      limit: (sources) =>
        `${sources.bytes(BYTES, 'RESPONSES.perOwner')} per organization (without a key: per address); ${sources.bytes(BYTES, 'RESPONSES.total')} per process`,
      routes: 'responses of 1 KiB and more',
      answer: budget,
    },
    {
      what: 'a client that reads slowly',
      limit: (sources) =>
        `${sources.bytes(SLOW, 'NORMAL_RATE.bytesPerSecond')} a second over ${sources.duration(SLOW, 'NORMAL_RATE.windowMs')}; ${sources.bytes(SLOW, 'LOW_MEMORY_RATE.bytesPerSecond')} a second over ${sources.duration(SLOW, 'LOW_MEMORY_RATE.windowMs')} while unread responses take more than half of their memory; per connection`,
      routes: ALL,
      answer: () => 'connection reset',
      metric: [CONNECTIONS, 'http_connections_stalled_total'],
    },
  ],
};

const rowOf = ({ what, limit, routes, answer, file, metric }: Row): string => {
  const sources = new Sources();
  const text = limit(sources);
  return `| ${what} | ${text} | ${routes} | ${answer()} | ${metric ? metricName(metric) : ''} | ${file === undefined ? sources.list() : `\`${file}\``} |`;
};

/** Returns the page as Markdown. Values, messages and names of metrics are checked against the source. */
export const waitingPage = (): string => `# Where a request can wait

\`npm run record\` makes this page from the source; \`test/system/reference/waiting.ts\` has the rows. [Limits](../reference/limits.md) lists what a request may ask for; this page lists where it can wait or be refused because of other requests, in the order in which it meets these places. An address is an IPv4 address or an IPv6 /64 network. A key without an organization counts as an organization.

\`http_request_duration_seconds\` counts every response by route and status. The column _metric_ names a further metric. All metrics begin with \`threat_protection_\`. A connection that is reset, and a 408 of a request without a route, appear only in the access log or in the named metric. Two answers are shared:

- \`queue\` (\`${CONCURRENCY}\`): ${refused(429, numberOf(CONCURRENCY, 'RETRY_AFTER_SECONDS'), CONCURRENCY, 'Too many ${this.limits.name} of this organization are waiting')} if the queue is full, and ${refused(503, 1, CONCURRENCY, 'Earlier ${this.limits.name} of this organization are still running')} after the wait.
- \`memory\` (\`${BUDGET}\`): ${refused(429, numberOf(BUDGET, 'RETRY_AFTER_SECONDS'), BUDGET, 'Concurrent ${name} of this organization exceed ${perOwner} bytes')}, and ${refused(503, 1, BUDGET, 'Too many large ${name} at once')} for the process.

${Object.entries(TABLES)
  .map(
    ([heading, rows]) => `## ${heading}

| waits for, or is refused by | limit | routes | answer | metric | defined by |
| --- | --- | --- | --- | --- | --- |
${rows.map(rowOf).join('\n')}`,
  )
  .join('\n\n')}
`;
