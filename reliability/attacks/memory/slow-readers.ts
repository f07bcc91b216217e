import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Outcome, Scenario } from '../../scenario.js';
import { sendRequest } from '../../rig/http-request.js';
import type { RunContext } from '../../rig/run-context.js';
import { cloudEvent, sent } from '../../../test/support/upstream.js';
import { withBystanders } from '../../rig/bystanders.js';
import { sendUnread } from '../../../test/support/raw.js';
import { startNaiveService, TENANTS } from '../../rig/shared-services.js';
import type { Target } from '../../rig/target.js';

interface Scale {
  readonly organizations: number;
  /** Connections per organization. */
  readonly connections: number;
  /** Pipelined requests per connection. */
  readonly requests: number;
  readonly stayMs: number;
  /** Whether the connections stay until the service closes them. */
  readonly untilCut: boolean;
}

const MB = 1024 * 1024;
/** The maximum memory that all connections may hold. */
const MAX_HELD = 64 * MB;
/** The maximum memory once the connections have been closed. */
const MAX_LEFT = 24 * MB;
/** Each connection reads 64 KiB in this interval. */
const TAKE_EVERY_MS = 15_000;

/**
 * Measuring collects garbage, which blocks the event loop for 50 ms. The interval is so long that these pauses do not
 * determine the p99 of the others.
 */
const WEIGH_EVERY_MS = 10_000;

/** A bulk check with a response of about 400 KB. */
const bulkCheck = (key: string): string => {
  const body = JSON.stringify({ contents: Array.from({ length: 1_000 }, () => '?'.repeat(40)) });
  return (
    `POST /v2/asset/check/bulk HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${key}\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${body.length}\r\n\r\n${body}`
  );
};

const attack = async (
  context: RunContext,
  target: Target,
  request: (key: string) => string,
  scale: Scale,
): Promise<Outcome> => {
  const { organizations, connections, requests, stayMs, untilCut } = scale;
  const findings: string[] = [];
  let [heldBytes, leftBytes] = [0, 0];
  const outcome = await withBystanders(context, target, async () => {
    const before = await target.measureResources();
    const sockets: Socket[] = [];
    for (let n = 0; n < organizations * connections; n += 1) {
      const key = target.keys[TENANTS[n % organizations]!]!;
      sockets.push(sendUnread(target.url, request(key).repeat(requests)));
      // Connections are opened slowly, because floods are another attack.
      await sleep(100);
    }
    const taking = setInterval(() => {
      for (const socket of sockets) socket.read();
    }, TAKE_EVERY_MS);
    for (const until = Date.now() + stayMs; Date.now() < until; await sleep(Math.min(WEIGH_EVERY_MS, stayMs / 2))) {
      leftBytes = (await target.measureResources()).memory - before.memory;
      heldBytes = Math.max(heldBytes, leftBytes);
    }
    clearInterval(taking);
    for (const socket of sockets) socket.destroy();
  });
  if (heldBytes > MAX_HELD) findings.push(`The connections hold ${Math.round(heldBytes / MB)} MB`);
  if (untilCut && leftBytes > MAX_LEFT)
    findings.push(`After ${stayMs / 1_000} s the connections still hold ${Math.round(leftBytes / MB)} MB`);
  return {
    workload: `${organizations * connections} connections of ${organizations} organizations with ${requests} large responses each, of which 64 KiB are read every 15 s`,
    observed: `at most ${Math.round(heldBytes / MB)} MB held${untilCut ? `, ${Math.round(leftBytes / MB)} MB after ${stayMs / 1_000} s` : ''}; ${outcome.observed}`,
    findings: [...findings, ...outcome.findings],
  };
};

export const slowReaders: Scenario<Scale> = {
  name: 'S29',
  what: 'large responses are read slowly',
  asvs: { '13.1.3': 'Configuration Documentation', '15.2.2': 'Security Architecture and Dependencies' },
  full: {
    organizations: 10,
    connections: 20,
    // The maximum of queued requests of a connection, and the active one.
    requests: 17,
    stayMs: 60_000,
    untilCut: true,
  },
  run: async (context, scale, sharedServices) =>
    attack(context, await sharedServices.service('weighed'), bulkCheck, scale),
  guard: 'responses count for their organization until they have been read',
  controlScale: { organizations: 1, connections: 6, requests: 60, stayMs: 4_000, untilCut: false },
  withoutGuard: async (context, scale) => {
    const target = await startNaiveService(context);
    const organization = TENANTS[0]!;
    const events = Array.from({ length: 500 }, (_, n) =>
      cloudEvent(sent('ReportFiled', { organization, reportId: `report-${n}`, text: 'x'.repeat(1_000) }, `slow-${n}`)),
    );
    await sendRequest(`${target.url}/v2/events`, { key: organization, events });
    const metrics = (key: string): string =>
      `GET /v2/organization/metrics HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${key}\r\n\r\n`;
    return attack(context, target, metrics, scale);
  },
};
