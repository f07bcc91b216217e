import { Agent, get } from 'node:http';
import { randomUUID } from 'node:crypto';
import { toJson } from '../../../src/events/event.js';
import { assetGroupsStream } from '../../../src/events/streams.js';
import type { Outcome, Scenario } from '../../scenario.js';
import { sendRequest } from '../../rig/http-request.js';
import { waitUntilCounted } from '../../rig/check.js';
import type { RunContext } from '../../rig/run-context.js';
import { cloudEvent, sent } from '../../../test/support/upstream.js';
import { withBystanders } from '../../rig/bystanders.js';
import { sendAll } from '../../rig/send-all.js';
import { startNaiveService, type RunningService, TENANTS } from '../../rig/shared-services.js';
import { Statuses } from '../../rig/statuses.js';
import type { Target } from '../../rig/target.js';

interface Scale {
  /** Members of one group, each of 4,000 characters of four bytes. */
  readonly contents: number;
  /** Groups with names of 255 such characters. */
  readonly groups: number;
  readonly connections: number;
  readonly seconds: number;
}

const ORGANIZATION = TENANTS[16]!;
const FACE = '\u{1f600}';
const AT = '2026-03-01T00:00:00Z';
const BATCH = 200;
const GROUPS = '/v2/organization/asset-groups';
const pageOf = (groupId: number): string => `${GROUPS}/${groupId}/assets?limit=1000`;
/** The maximum size of a page including its cursor, in bytes. */
const MAX_PAGE = 257 * 1024;

const grouped = (groupId: number, n: number): object =>
  cloudEvent(
    sent('AssetGrouped', {
      organization: ORGANIZATION,
      groupId,
      asset: { type: 'EMAIL', content: `${n}${FACE.repeat(4_000)}` },
      updatedAt: AT,
    }),
  );

/** Fills a group with a key of the organization. */
const fillGroup = (target: Target, groupId: number, contents: number): Promise<unknown> => {
  const members = Array.from({ length: contents }, (_, n) => grouped(groupId, n));
  return sendAll(target, target.ingestKeys[ORGANIZATION], members, BATCH);
};

const listGroups = async ({ url, keys }: RunningService): Promise<readonly { id: number; assetCount: number }[]> =>
  (await sendRequest(url + GROUPS, { key: keys[ORGANIZATION], timeoutMs: 120_000 })).body.groups;

/** Appends groups to the log, with ids from `first` on. */
const createGroups = async ({ log, url }: RunningService, first: number, groups: number): Promise<void> => {
  const stream = assetGroupsStream(ORGANIZATION);
  for (let from = 0; from < groups; from += BATCH) {
    const events = Array.from({ length: Math.min(BATCH, groups - from) }, (_, n) => {
      const groupId = first + from + n;
      const name = `${groupId}${FACE.repeat(250)}`;
      const data = { organization: ORGANIZATION, groupId, name, createdAt: Date.parse(AT) };
      return {
        id: randomUUID(),
        type: 'AssetGroupCreated',
        data: toJson({ type: 'AssetGroupCreated', data }),
        metadata: {},
      };
    });
    await log.append(stream, 'any', events);
  }
  await waitUntilCounted(url, 120_000);
};

/** Reads and discards a response. @returns its status (0: disconnected) and size in bytes */
const readAndDiscard = (url: string, key: string, agent: Agent): Promise<readonly [status: number, bytes: number]> =>
  new Promise((resolve) => {
    let bytes = 0;
    const clientRequest = get(url, { agent, headers: { 'x-api-key': key } }, (response) => {
      response.on('data', (piece: Buffer) => (bytes += piece.length));
      response.on('error', () => resolve([0, bytes]));
      response.on('end', () => resolve([response.statusCode!, bytes]));
    });
    clientRequest.on('error', () => resolve([0, bytes]));
  });

const attack = async (
  context: RunContext,
  target: Target,
  { page, list }: { readonly page?: string; readonly list: string },
  { contents, groups, connections, seconds }: Scale,
): Promise<Outcome> => {
  const paths = page === undefined ? [list] : [page, list];
  const findings: string[] = [];
  const statuses = new Statuses();
  let largestPage = 0;
  const outcome = await withBystanders(context, target, async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: connections });
    const until = Date.now() + seconds * 1_000;
    const lane = async (n: number): Promise<void> => {
      const path = paths[n % paths.length]!;
      while (Date.now() < until) {
        const [status, bytes] = await readAndDiscard(target.url + path, target.keys[ORGANIZATION]!, agent);
        statuses.add(status);
        if (path === page) largestPage = Math.max(largestPage, bytes);
      }
    };
    await Promise.all(Array.from({ length: connections }, (_, n) => lane(n)));
    agent.destroy();
  });
  if (largestPage > MAX_PAGE) findings.push(`A page of a group had ${largestPage} bytes`);
  return {
    workload: `${contents} members of 16 KB, ${groups} groups with names of 1 KB, read by ${connections} connections for ${seconds} s`,
    observed: `own requests: ${statuses}; largest page ${largestPage} bytes; ${outcome.observed}`,
    findings: [...findings, ...statuses.check(200, 429, 503), ...outcome.findings],
  };
};

export const largeResponses: Scenario<Scale> = {
  name: 'S26',
  what: 'one organization requests the largest possible responses',
  asvs: { '8.4.1': 'Other Authorization Considerations', '15.4.4': 'Safe Concurrency', '2.4.1': 'Anti-automation' },
  full: { contents: 1_000, groups: 36_000, connections: 24, seconds: 30 },
  run: async (context, scale, sharedServices) => {
    const target = await sharedServices.service();
    // Other attacks may have created groups.
    const before = await listGroups(target);
    const first = Math.max(0, ...before.map(({ id }) => id)) + 1;
    context.reportProgress('filling the organization');
    await createGroups(target, first, scale.groups);
    await fillGroup(target, first, scale.contents);
    await waitUntilCounted(target.url, 120_000);
    const outcome = await attack(context, target, { page: pageOf(first), list: GROUPS }, scale);
    const groups = await listGroups(target);
    const filled = groups.find(({ id }) => id === first);
    if (groups.length === before.length + scale.groups && filled?.assetCount === scale.contents) return outcome;
    return {
      ...outcome,
      findings: [...outcome.findings, `The list has ${groups.length} groups, ${filled?.assetCount} members in one`],
    };
  },
  guard: 'a limit in bytes for the responses of an organization',
  controlScale: { connections: 12, seconds: 1.5 },
  withoutGuard: async (context, scale) => {
    const target = await startNaiveService(context);
    await fillGroup(target, 1, scale.contents);
    // The naive service returns everything in one response.
    return attack(context, target, { list: '/v2/organization/metrics' }, scale);
  },
};
