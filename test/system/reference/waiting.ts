import { ByteBudget } from '../../../src/flow/budgets.js';
import { ConcurrencyLimit } from '../../../src/flow/concurrency-limit.js';
import { type Limit, LIMITS } from '../../../src/limits.js';
import { amount, fileOf, SOURCES, upperCased } from './limits.js';

/** What a request does not share with others. */
const OWN = new Set<string>(['request', 'event', 'value', 'list', 'webhook']);
const OF_OTHER_PROCESSES = /^(?:src\/webhooks\/delivery|projections)\/|postgres\/log\.ts/;

/**
 * Requests compete for what they share, and their waiting time ends. What an organization may have, and what is kept to
 * save work, are no such places.
 */
const isPlace = (limit: Limit): boolean =>
  (!OWN.has(limit.scope) || ['ms', 'seconds'].includes(limit.unit)) &&
  !(
    /^(?:409|they are made again)/.test(limit.beyond) ||
    limit.unit === 'days' ||
    OF_OTHER_PROCESSES.test(fileOf(limit))
  );

const stageOf = (limit: Limit): string => {
  if (/response/.test(limit.name)) return 'After the handler';
  return /^src\/(?:http|flow|api-keys)\//.test(fileOf(limit)) ? 'Before the handler' : 'In the handler';
};

/** The routes that meet the limits of a file. The first match counts. */
const ROUTES: readonly (readonly [file: RegExp, routes: string])[] = [
  [/flow\/turns/, 'all but `/health/…` and `/metrics`'],
  [/http\/connections|http\/server/, 'all'],
  [/check-access/, 'all but `/health/…` and `/metrics`; with a key: `/v2/…`'],
  [/body-reader/, 'requests with a body'],
  [/byte-limits/, 'requests with a body; responses of 1 KiB and more'],
  [/http\/responses/, 'responses as text'],
  [/key-ring/, '`/v2/…`'],
  [/consistency|flow\/concurrency-limit/, 'routes with `reads` in `@Access`, and `GET …/feed` with `timeout`'],
  [
    /read-models\/request/,
    'reads of groups, members, webhooks, brands, the organization and histories; `/v2/events/…`',
  ],
  [/read-models\/pools|postgres\/pool/, 'all that read tables'],
  [/metrics\//, '`…/metrics…`, `…/takedowns/statistics`'],
  [
    /records\/record-queries/,
    '`…/threats`, `…/takedowns`, `…/reports`, one record; `GET …/feed`; objects, manifest and versions of TAXII',
  ],
  [/records\/taxii/, 'objects, manifest and versions of TAXII'],
  [/records\/export/, '`….csv` of records'],
  [/^src\/lists\//, '`/v2/lists…`'],
  [/asset-check\/check-assets/, '`…/disputes…`'],
  [/asset-check\//, '`/v2/asset/check…`'],
  [/backlog|backpressure/, '`POST /v2/events`'],
  [
    /quotas|event-log\/(?:postgres|eventstoredb)/,
    '`POST /v2/events`; changes of groups, members, webhooks and disputes',
  ],
  [/command-queue/, 'changes of groups, webhooks and disputes'],
  [/change-membership/, '`…/asset-groups/{id}/assets`, `…/assets/remove`'],
  [/asset-groups\//, '`/v2/organization/asset-groups…`'],
  [/webhooks\//, '`…/webhooks…`'],
  [/disputes\//, '`…/disputes…`'],
];

const routesOf = (limit: Limit): string => {
  const file = fileOf(limit);
  const found = ROUTES.find(([files]) => files.test(file));
  if (found === undefined) throw new Error(`Say in waiting.ts which routes meet the limits of ${file}`);
  return found[1];
};

/** The answers that have a message of their own. `retryAfter` is in seconds, or says what the seconds depend on. */
const MESSAGES: readonly (readonly [status: 429 | 503, retryAfter: number | string, file: string, message: string])[] =
  [
    [503, 1, 'src/api-keys/key-ring.ts', 'The API keys have not been loaded yet; try again'],
    [429, 'until the minute ends', 'src/http/access/check-access.ts', 'Too many requests from this address without'],
    [429, 'until the minute ends', 'src/errors.ts', 'Rate limit exceeded for this key'],
    [503, 1, 'src/http/consistency.ts', 'The service has not reached the state of'],
    [429, 1, 'src/flow/concurrency-limit.ts', 'requests ${ofOwner} may wait for new data'],
    [503, 1, 'src/flow/concurrency-limit.ts', 'Too many requests are waiting for new data'],
    [503, 5, 'src/records/record-queries.ts', 'The lists are not complete yet: ${progress}'],
    [429, 5, 'src/records/export-records.ts', 'A CSV export of this organization is running'],
    [503, 5, 'src/records/export-records.ts', 'Too many CSV exports are running'],
    [503, 2, 'src/lists/served-list.ts', 'The lists have not been built yet'],
    [503, 2, 'src/lists/names/name-reads.ts', 'Too many requests for names of lists are waiting'],
    [503, 1, 'src/postgres/transient-errors.ts', 'The database did not answer; try again'],
    [503, 60, 'src/metrics/metrics-queries.ts', 'Counting this range takes too long'],
    [503, 60, 'src/records/record-queries.ts', 'Reading this selection takes too long'],
    [429, 'until midnight UTC', 'src/quotas/daily-quota.ts', '${organization} has used its quota of'],
    [429, 1, 'src/ingestion/receive/backpressure.ts', 'Too many events are waiting to be counted'],
    [429, 1, 'src/event-log/command-queue.ts', 'Too many changes of the ${name} of this organization are waiting'],
    [503, 1, 'src/event-log/command-queue.ts', 'Too many concurrent changes to the ${rules.name} of this organization'],
    [503, 5, 'src/event-log/read-streams.ts', 'The read model of these ${name} is too far behind'],
    [429, 1, 'src/asset-groups/change-membership.ts', 'Too many changes of this organization are waiting'],
    [503, 1, 'src/asset-groups/change-membership.ts', 'The change may be stored, but has not taken effect yet'],
    [503, 1, 'src/webhooks/webhook-commands.ts', 'The change is stored, but has not taken effect yet'],
    [503, 5, 'src/webhooks/test-webhook.ts', 'The webhook delivery process did not respond'],
  ];

const answer = (status: number, retryAfter: number | string, file: string, message: string): string =>
  `| ${status} | ${retryAfter} | _${message.replaceAll(/\$\{[^}]*\}/g, '…')}_ | \`${file}\` |`;

/** Returns the row of the error that a call throws. */
const thrown = async (status: number, file: string, call: () => unknown): Promise<string> => {
  try {
    await call();
  } catch (error) {
    const { retryAfterSeconds, message } = error as Error & { retryAfterSeconds: number };
    return answer(status, retryAfterSeconds, file, message);
  }
  throw new Error(`${file} has not refused the call`);
};

/** The answers of the limits that many places share, as their code gives them. */
const sharedAnswers = (): Promise<string[]> => {
  const [queue, memory] = ['src/flow/concurrency-limit.ts', 'src/flow/budgets.ts'];
  const limits = { name: '…', maxRunning: 0, waitTimeoutMs: 1, cooldownMs: 0 };
  const budget = new ByteBudget({ name: '…', perOwner: 1_024, total: 1_024, smallSize: 0, reservedForSmall: 0 });
  budget.reserve('a', 1);
  budget.arrive(1);
  return Promise.all([
    thrown(429, queue, () =>
      new ConcurrencyLimit({ ...limits, maxWaiting: 0 }).run('a', undefined, () => Promise.resolve()),
    ),
    thrown(503, queue, () =>
      new ConcurrencyLimit({ ...limits, maxWaiting: 1 }).run('a', undefined, () => Promise.resolve()),
    ),
    thrown(429, memory, () => budget.reserve('a', 1_024)),
    thrown(503, memory, () => budget.check(1_024, 1_024)),
  ]);
};

const grouped = (limits: readonly Limit[], keyOf: (limit: Limit) => string): Map<string, Limit[]> => {
  const groups = new Map<string, Limit[]>();
  for (const limit of limits) groups.set(keyOf(limit), [...(groups.get(keyOf(limit)) ?? []), limit]);
  return groups;
};

/** Returns a list for each set of routes, with a line for each thing that is limited. */
const byRoutes = (limits: readonly Limit[]): string =>
  [...grouped(limits, routesOf)]
    .map(([routes, own]) => {
      const lines = [...grouped(own, ({ name }) => name)].map(
        ([name, of]) =>
          `- ${upperCased(name)}: ${of.map((one) => `${amount(one)} per ${one.scope} (${one.beyond})`).join(', ')}`,
      );
      return `### ${upperCased(routes)}\n\n${lines.join('\n')}`;
    })
    .join('\n\n');

/** Returns the page as Markdown, printed from the declared limits for which requests compete. */
export const waitingPage = async (): Promise<string> => {
  const places = LIMITS.filter(isPlace);
  for (const [, , file, message] of MESSAGES)
    if (!SOURCES.get(file)?.includes(message)) throw new Error(`${file} has no message "${message}"`);
  return `# Where a request can wait

\`npm run record\` prints this page from the limits that the modules declare (\`src/limits.ts\`). [Limits](../reference/limits.md) lists all of them; this page lists, by routes, those for which requests compete: where a request can wait or be refused because of other requests. An address is an IPv4 address or an IPv6 /64 network. A key without an organization counts as an organization.

\`http_request_duration_seconds\` counts every response by route and status. A connection that is reset, and a 408 of a request without a route, appear only in the access log or in \`http_connections_refused_total\`, \`http_connections_pipelined_total\` and \`http_connections_stalled_total\`. \`database_pool_connections\`, \`asset_check_lookups_total\`, \`ingest_quota_refusals_total\` and \`log_append_duration_seconds\` count further places. All metrics begin with \`threat_protection_\`.

A request also waits, without a number: for the API keys, if they have not been read since the start; for own statuses that have not reached the \`Consistency-Token\`, which are read once more; and at \`GET …/feed\` for its \`timeout\`. Lists, feed and CSV of records are refused until their tables include all earlier events.

${['Before the handler', 'In the handler', 'After the handler']
  .map((stage) => `## ${stage}\n\n${byRoutes(places.filter((limit) => stageOf(limit) === stage))}`)
  .join('\n\n')}

## Answers

| status | \`Retry-After\` | message begins | from |
| --- | --- | --- | --- |
${[...(await sharedAnswers()), ...MESSAGES.map((each) => answer(...each))].join('\n')}
`;
};
