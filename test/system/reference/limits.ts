import { bytes, count, duration, numberOf, readSource } from './constants.js';
import { defaultOf } from './settings.js';

/** Formats the values of a row, and collects the sources of these values. */
export class Sources {
  private readonly settings: string[] = [];
  private readonly constants = new Map<string, string[]>();

  private constant(path: string, name: string): number {
    this.constants.set(path, [...(this.constants.get(path) ?? []), `\`${name}\``]);
    return numberOf(path, name);
  }

  private default(setting: string): number {
    this.settings.push(`\`${setting}\``);
    return Number(defaultOf(setting));
  }

  /** Markdown. */
  list(): string {
    const constants = [...this.constants].map(([path, names]) => `${names.join(', ')} in \`${path}\``);
    return [...this.settings, ...constants].join('; ');
  }

  readonly count = (path: string, name: string): string => count(this.constant(path, name));
  readonly bytes = (path: string, name: string): string => bytes(this.constant(path, name));
  readonly duration = (path: string, name: string): string => duration(this.constant(path, name));
  readonly countSet = (setting: string): string => count(this.default(setting));
  readonly bytesSet = (setting: string): string => bytes(this.default(setting));
}

interface Row {
  readonly what: string;
  readonly limit: (sources: Sources) => string;
  readonly beyond: string;
  /** The file that returns the 429. */
  readonly rejects?: string;
}

const CONCURRENCY = 'src/flow/concurrency-limit.ts';
const BUDGET = 'src/flow/budgets.ts';
const COMMANDS = 'src/event-log/command-queue.ts';
const BYTES = 'src/http/byte-limits.ts';
const SLOW = 'src/http/connections.ts';
const EVENTS = 'src/ingestion/receive/content-mode.ts';
const CHECK = 'src/asset-check/asset-check.controller.ts';
const GROUPS = 'src/asset-groups/list-asset-groups.ts';
const SEND = 'src/webhooks/delivery/send.ts';
const SLOTS = 'src/webhooks/delivery/context.ts';
const TEST = 'src/webhooks/test-webhook.ts';
const RECORDS = 'src/records/record-queries.ts';
const EXPORT = 'src/records/export-records.ts';
const LOOKUPS = 'src/asset-check/lookup-source.ts';
const KEYS = 'src/api-keys/key-ring.ts';
const SOURCES_FILE = 'src/asset-check/sources/sources-file.ts';
const POOLS = 'src/read-models/pools.ts';

export const concurrency = (sources: Sources, path: string, name: string): string =>
  `${sources.count(path, `${name}.maxRunning`)} at a time per organization; ${sources.count(path, `${name}.maxWaiting`)} wait up to ${sources.duration(path, `${name}.waitTimeoutMs`)}`;

/** A row of a limit of concurrent work per organization. */
const queueOf = (what: string, path: string, name: string): Row => ({
  what,
  limit: (sources) => concurrency(sources, path, name),
  beyond: '429 if too many wait; 503 after the wait',
  rejects: CONCURRENCY,
});

const TABLES: Readonly<Record<string, readonly Row[]>> = {
  Requests: [
    {
      what: 'Requests with a key',
      limit: (sources) => `${sources.countSet('RATE_LIMIT_PER_MINUTE')} a minute per key`,
      beyond: '429',
      rejects: 'src/http/access/check-access.ts',
    },
    {
      what: 'Requests without a valid key',
      limit: (sources) =>
        `${sources.countSet('UNAUTHENTICATED_RATE_LIMIT_PER_MINUTE')} a minute per address, or per /64 network if the address is IPv6`,
      beyond: '429',
      rejects: 'src/http/access/check-access.ts',
    },
    {
      what: 'Requests with an unknown key, which wait until the process has read the newest keys',
      limit: (sources) =>
        `${sources.count(KEYS, 'MAX_WAITING')}; up to ${sources.duration(KEYS, 'MAX_WAIT_FOR_READ_MS')}`,
      beyond: '401',
    },
    {
      what: 'Open connections',
      limit: (sources) =>
        `${sources.countSet('MAX_CONNECTIONS_PER_ADDRESS')} per address; no limit if \`TRUST_PROXY\` is set`,
      beyond: 'the connection is reset',
    },
    {
      what: 'Requests on one connection that wait for earlier requests',
      limit: (sources) => sources.count('src/http/connections.ts', 'MAX_PIPELINED'),
      beyond: 'the connection is reset',
    },
    {
      what: 'Time to send the headers; time to send the whole request',
      limit: (sources) =>
        `${sources.duration('src/http/server.ts', 'headersTimeout')}; ${sources.duration('src/http/server.ts', 'requestTimeout')}, or ${sources.duration('src/http/body/body-reader.ts', 'LOW_MEMORY_TIMEOUT_MS')} while bodies take more than half of the memory allowed for them`,
      beyond: '408',
    },
    { what: 'URL', limit: (sources) => sources.bytes(BYTES, 'MAX_URI_LENGTH'), beyond: '414' },
    {
      what: 'Body',
      limit: (sources) =>
        `${sources.bytes(BYTES, 'BODY_LIMIT')}; bulk check and group members ${sources.bytes(BYTES, 'BULK.bodyLimit')}; events ${sources.bytes(EVENTS, 'MAX_BODY')}; compressed or not`,
      beyond: '413',
    },
    {
      what: 'Bodies in memory',
      limit: (sources) =>
        `${sources.bytes(BYTES, 'BODIES.perOwner')} per organization; ${sources.bytes(BYTES, 'BODIES.total')} in all, of which ${sources.bytes(BYTES, 'BODIES.reservedForSmall')} are reserved for small bodies`,
      beyond: '429 if the organization exceeds its limit; 503 if the total is exceeded',
      rejects: BUDGET,
    },
    queueOf('Compressed bodies that are decompressed', 'src/http/body/body-reader.ts', 'DECOMPRESSION'),
    {
      what: 'Responses that clients have not read',
      limit: (sources) =>
        `${sources.bytes(BYTES, 'RESPONSES.perOwner')} per organization; ${sources.bytes(BYTES, 'RESPONSES.total')} in all, of which ${sources.bytes(BYTES, 'RESPONSES.reservedForSmall')} are reserved for small responses`,
      beyond: '429 if the organization exceeds its limit; 503 if the total is exceeded',
      rejects: BUDGET,
    },
    {
      what: 'Rate at which a client must read a response',
      limit: (sources) =>
        `at least ${sources.bytes(SLOW, 'NORMAL_RATE.bytesPerSecond')} a second over ${sources.duration(SLOW, 'NORMAL_RATE.windowMs')}; ${sources.bytes(SLOW, 'LOW_MEMORY_RATE.bytesPerSecond')} a second over ${sources.duration(SLOW, 'LOW_MEMORY_RATE.windowMs')} while unread responses take more than half of the memory allowed for them`,
      beyond: 'the connection is reset',
    },
    {
      what: 'Time slice of an organization on the event loop',
      limit: (sources) =>
        `${sources.duration('src/flow/turns.ts', 'MAX_TURN_MS')}, or ${sources.duration('src/flow/turns.ts', 'MAX_BUSY_TURN_MS')} while other work waits; the next time slice goes to the organization that used the least time`,
      beyond: 'the work waits',
    },
    {
      what: 'Requests that wait for the feed or for a token',
      limit: (sources) =>
        `${sources.count('src/flow/concurrency-limit.ts', 'MAX_OF_ORGANIZATION')} per organization; ${sources.count('src/flow/concurrency-limit.ts', 'MAX_IN_ALL')} in all`,
      beyond: '429 if the organization exceeds its limit; 503 if the total is exceeded',
      rejects: 'src/flow/concurrency-limit.ts',
    },
    queueOf('Other queries', 'src/read-models/request-concurrency.ts', 'CONCURRENCY'),
    {
      what: 'Database connections of an API process',
      limit: (sources) =>
        `metrics ${sources.count(POOLS, 'METRICS.max')}; requests ${sources.count(POOLS, 'createRequestPool.max')}; lists and feed ${sources.count(POOLS, 'RECORDS.max')}; exports ${sources.count(POOLS, 'EXPORTS.max')}; followers and health ${sources.count(POOLS, 'createWatchPool.max')}; checkpoints ${sources.count(POOLS, 'createCheckpointPool.max')}; the event log has further connections of its own`,
      beyond: '503',
    },
  ],
  Events: [
    { what: 'Events in a batch', limit: (sources) => sources.count(EVENTS, 'MAX_EVENTS'), beyond: '413' },
    {
      what: 'One event',
      limit: (sources) =>
        `${sources.count('src/http/json.ts', 'MAX_DEPTH')} levels; ${sources.count('src/http/json.ts', 'MAX_TOKENS')} parts; ${sources.count('src/events/declaring/fields.ts', 'MAX_LIST')} brands or reviews`,
      beyond: 'the event is rejected',
    },
    {
      what: 'Daily quota (UTC) of an organization: events of its own keys, and changes to groups, members, webhooks and disputes',
      limit: (sources) =>
        `${sources.countSet('INGEST_EVENTS_PER_DAY')} events; ${sources.bytesSet('INGEST_BYTES_PER_DAY')}; shared by all processes`,
      beyond: '429',
      rejects: 'src/quotas/daily-quota.ts',
    },
    {
      what: 'Facts of stored events that wait to be counted',
      limit: (sources) =>
        `${sources.count('src/ingestion/receive/backpressure.ts', 'LIMITS.backlog')} of all organizations; beyond that, each organization may have its share, at least ${sources.count('src/ingestion/receive/backpressure.ts', 'LIMITS.alwaysAdmitted')}`,
      beyond: 'the request waits up to 2 s; then 429',
      rejects: 'src/ingestion/receive/backpressure.ts',
    },
    {
      what: 'Events in a request to `POST /v2/events/status`',
      limit: (sources) => sources.count('src/ingestion/outcomes/outcomes.dto.ts', 'MAX_EVENTS'),
      beyond: '400',
    },
    {
      what: 'Days for which usage is kept',
      limit: (sources) => sources.count('src/ingestion/outcomes/usage-log.ts', 'KEPT_DAYS'),
      beyond: 'older days are deleted',
    },
    {
      what: 'Duration of one database statement of the projector',
      limit: (sources) => sources.duration('projections/project.ts', 'TIMEOUTS.statement_timeout'),
      beyond: 'the batch is split; a single event that fails is parked',
    },
  ],
  'Metrics and records': [
    queueOf('Metrics queries', 'src/metrics/metrics-queries.ts', 'CONCURRENCY'),
    {
      what: 'Metrics in one response',
      limit: (sources) =>
        `${sources.count('src/metrics/count-sql.ts', 'MAX_DAYS')} days; ${sources.count('src/metrics/count-sql.ts', 'MAX_TYPES')} asset types`,
      beyond: '422',
    },
    {
      what: 'Points of a timeline',
      limit: (sources) => sources.count('src/metrics/timeline-sql.ts', 'MAX_POINTS'),
      beyond: '400',
    },
    queueOf('Lists of records', RECORDS, 'concurrency'),
    queueOf('Requests to the feed', RECORDS, 'feedConcurrency'),
    {
      what: 'A page of a list',
      limit: (sources) =>
        `${sources.bytes('src/records/page-sql.ts', 'MAX_PAGE_BYTES')}; ${sources.count('src/records/page-sql.ts', 'MAX_EXAMINED')} keys examined`,
      beyond: 'the page is shorter',
    },
    {
      what: 'Values of one filter of a list',
      limit: (sources) =>
        `${sources.count('src/records/selection.ts', 'MAX_VALUES')}; ${sources.count('src/records/selection.ts', 'MAX_COMBINATIONS')} combinations of two filters`,
      beyond: '400',
    },
    {
      what: 'CSV export of records',
      limit: (sources) =>
        `${sources.count(EXPORT, 'MAX_ROWS')} rows; 1 at a time per organization; ${sources.count(EXPORT, 'MAX_CONCURRENT_EXPORTS')} in all`,
      beyond: '422 for too many rows; 429 if the organization exceeds its limit; 503 if the total is exceeded',
      rejects: EXPORT,
    },
    {
      what: 'Time of a CSV export',
      limit: (sources) =>
        `${sources.duration(EXPORT, 'EXPORT_TIMEOUT_MS')}; ${sources.duration(POOLS, 'EXPORT_READ_TIMEOUT_MS')} for the client to read the next part`,
      beyond: 'the connection is reset',
    },
    {
      what: 'A page of the feed',
      limit: (sources) =>
        `${sources.count('src/records/feed/feed.dto.ts', 'MAX_ELEMENTS')} elements; ${sources.bytes('src/records/feed/feed-elements.ts', 'MAX_RESPONSE_BYTES')}`,
      beyond: '400 for a request of more elements; a shorter page if the size is reached',
    },
    {
      what: 'A page of TAXII',
      limit: (sources) =>
        `${sources.count('src/records/taxii/read-objects.ts', 'MAX_LIMIT')} objects, and the rest of their last millisecond up to ${sources.count('src/records/taxii/objects-sql.ts', 'MAX_OBJECTS')} objects; ${sources.bytes('src/records/taxii/objects-sql.ts', 'MAX_BYTES')}`,
      beyond: 'a greater `limit` counts as the limit; a millisecond with more is continued by `next`',
    },
  ],
  'Asset check and groups': [
    {
      what: 'Contents of a bulk check',
      limit: (sources) =>
        `${sources.count('src/asset-check/asset-check.dto.ts', 'MAX_CONTENTS')}; each ${sources.count('src/assets/asset.ts', 'MAX_LENGTH')} characters`,
      beyond: '400',
    },
    queueOf('Bulk checks', CHECK, 'BULK_CHECKS'),
    {
      what: 'Time for the lookups of a bulk check',
      limit: (sources) => sources.duration('src/asset-check/asset-checker.ts', 'MAX_BUDGET_MS'),
      beyond: 'the source reports `timeout`',
    },
    {
      what: 'Lookups at a source of the kind `http` at a time',
      limit: (sources) =>
        `${sources.count(LOOKUPS, 'MAX_CONCURRENT_REQUESTS')}; ${sources.count(LOOKUPS, 'MAX_REQUESTS_OF_ORGANIZATION')} per organization`,
      beyond: 'the lookup waits',
    },
    {
      what: 'Download of a list',
      limit: (sources) =>
        `${sources.count('src/asset-check/lists/fetch-list.ts', 'MAX_REDIRECTS')} redirects, to public addresses; \`maxBytes\` and \`timeoutMs\` of the sources file (\`${SOURCES_FILE}\`)`,
      beyond: 'the last valid copy stays in use',
    },
    {
      what: "Entries of an asset's history",
      limit: (sources) => `the newest ${sources.count('src/asset-check/get-asset-history.ts', 'MAX_ENTRIES')}`,
      beyond: 'omitted',
    },
    {
      what: 'Entries of a list, if the history of an asset shows `seenSince` for this list',
      limit: (sources) => sources.count('src/asset-check/lists/first-seen.ts', 'MAX_ENTRIES'),
      beyond: 'omitted',
    },
    {
      what: 'Contents of one change to group members',
      limit: (sources) => sources.count('src/asset-groups/membership.ts', 'MAX_CONTENTS'),
      beyond: '400',
    },
    {
      what: 'Contents of waiting changes to group members',
      limit: (sources) =>
        `${sources.count('src/asset-groups/change-membership.ts', 'MAX_WAITING')} per organization; up to ${sources.duration('src/asset-groups/change-membership.ts', 'PROJECTION_TIMEOUT_MS')}`,
      beyond: '429',
      rejects: 'src/asset-groups/change-membership.ts',
    },
    {
      what: 'Waiting changes to groups',
      limit: (sources) => `${sources.count('src/asset-groups/group-commands.ts', 'MAX_WAITING')} per organization`,
      beyond: '429',
      rejects: COMMANDS,
    },
    {
      what: "Events of an organization's groups that the read model lacks",
      limit: (sources) => sources.count('src/asset-groups/load-groups.ts', 'MAX_TAIL'),
      beyond: '503',
    },
    {
      what: 'Open disputes of an organization',
      limit: (sources) => sources.count('src/disputes/dispute.ts', 'MAX_OPEN'),
      beyond: '409',
    },
    {
      what: 'Texts of a dispute',
      limit: (sources) =>
        `\`reason\` and \`note\` ${sources.count('src/events/types/verdicts.ts', 'MAX_REASON')} characters; \`contact\` ${sources.count('src/disputes/disputes.dto.ts', 'MAX_CONTACT')} characters`,
      beyond: '400',
    },
    {
      what: 'Contacts of disputes',
      limit: (sources) =>
        `${sources.count('src/disputes/file-dispute.ts', 'CONTACT_KEPT_DAYS')} days after the resolution`,
      beyond: 'erased',
    },
    {
      what: 'Waiting disputes',
      limit: (sources) => `${sources.count('src/disputes/file-dispute.ts', 'MAX_WAITING')} per organization`,
      beyond: '429',
      rejects: COMMANDS,
    },
    {
      what: "Events of an organization's disputes that the read model lacks",
      limit: (sources) => sources.count('src/disputes/file-dispute.ts', 'MAX_TAIL'),
      beyond: '503',
    },
    queueOf('Verdicts of disputes, when a dispute is filed or listed', 'src/asset-check/check-assets.ts', 'VERDICTS'),
    {
      what: "A page of a group's assets",
      limit: (sources) => sources.bytes('src/asset-groups/list-group-assets.ts', 'MAX_PAGE'),
      beyond: 'the page is shorter',
    },
    {
      what: 'Lists of groups that are sent in chunks',
      limit: (sources) =>
        `from ${sources.bytes(GROUPS, 'MAX_WHOLE')} on; ${concurrency(sources, GROUPS, 'CONCURRENCY')}; sent within ${sources.duration(GROUPS, 'MAX_SENDING_MS')}`,
      beyond: '429 if too many wait; 503 after the wait; connection reset if sending takes longer',
      rejects: CONCURRENCY,
    },
  ],
  Webhooks: [
    {
      what: 'Webhooks of an organization',
      limit: (sources) => `${sources.count('src/webhooks/webhook.ts', 'MAX_WEBHOOKS')}`,
      beyond: '409',
    },
    {
      what: 'Waiting changes to webhooks',
      limit: (sources) => `${sources.count('src/webhooks/webhook-commands.ts', 'MAX_WAITING')} per organization`,
      beyond: '429',
      rejects: COMMANDS,
    },
    {
      what: 'Tests of webhooks',
      limit: (sources) =>
        `${concurrency(sources, TEST, 'CONCURRENCY')}; the endpoint must respond within ${sources.duration(TEST, 'RESULT_TIMEOUT_MS')}`,
      beyond: '429 if too many wait; 503 after the wait',
      rejects: CONCURRENCY,
    },
    {
      what: 'Delivery requests in flight',
      limit: (sources) =>
        `${sources.count(SLOTS, 'MAX_IN_FLIGHT')}; ${sources.count(SLOTS, 'MAX_PER_ORGANIZATION')} per organization; ${sources.count(SLOTS, 'MAX_UNRESPONSIVE')} to endpoints that did not accept their last delivery within ${sources.duration('src/webhooks/delivery/endpoint-delivery.ts', 'RESPONSIVE_WITHIN_MS')}`,
      beyond: 'the delivery waits',
    },
    {
      what: 'Reads of the feed by the delivery process',
      limit: (sources) => `${sources.count(SLOTS, 'MAX_READS_PER_ORGANIZATION')} at a time per organization`,
      beyond: 'the delivery waits',
    },
    {
      what: 'Time and size of one delivery request',
      limit: (sources) =>
        `${sources.duration(SEND, 'CONNECT_TIMEOUT_MS')} to resolve the host name and connect; ${sources.duration(SEND, 'RESPONSE_TIMEOUT_MS')} for the response, of which ${sources.bytes(SEND, 'MAX_RESPONSE_BYTES')} are read`,
      beyond: 'the attempt fails',
    },
    {
      what: 'Records in one delivery',
      limit: (sources) =>
        `${sources.count('src/events/types/organizations.ts', 'MAX_BATCH')} records or ${sources.bytes('src/webhooks/delivery/next-batch.ts', 'MAX_BODY_BYTES')}; a single record may be larger`,
      beyond: 'the delivery has fewer records',
    },
    {
      what: 'Failures of a webhook',
      limit: (sources) =>
        `${sources.duration('src/webhooks/delivery/post.ts', 'DISABLE_AFTER_MS')} without a success; ${sources.count('src/webhooks/delivery/post.ts', 'MAX_REJECTIONS')} rejections of a single record`,
      beyond: 'the webhook is disabled; the record is set aside',
    },
    {
      what: 'Changes that `behind` covers',
      limit: (sources) => `${sources.count('src/webhooks/load-webhooks.ts', 'MAX_BEHIND')} changes`,
      beyond: 'later changes are not counted',
    },
  ],
};

/** The files that return a 429 according to the page. */
export const REJECTING = new Set(
  Object.values(TABLES).flatMap((rows) => rows.flatMap(({ rejects }) => (rejects === undefined ? [] : [rejects]))),
);

/** @throws Error if the file that the row names returns no 429 */
const rowOf = ({ what, limit, beyond, rejects }: Row): string => {
  const sources = new Sources();
  const text = limit(sources);
  if (rejects !== undefined && !readSource(rejects).includes('new TooManyRequests('))
    throw new Error(`${rejects} returns no 429`);
  return `| ${what} | ${text} | ${beyond} | ${sources.list()} |`;
};

/** Returns the page of limits as Markdown, generated from the constants that define the limits. */
export const limitsPage = (): string => `# Limits

\`npm run record\` makes this page from the constants and settings in the last column of each table.

Each API process applies the limits separately, so _n_ processes together admit up to _n_ times as much. Only the quotas of a UTC day are shared. Every 429 and 503 has \`Retry-After\` in seconds, and its message says which limit was reached.

${Object.entries(TABLES)
  .map(
    ([heading, rows]) => `## ${heading}

| applies to | limit | beyond the limit | defined by |
| --- | --- | --- | --- |
${rows.map(rowOf).join('\n')}`,
  )
  .join('\n\n')}
`;
