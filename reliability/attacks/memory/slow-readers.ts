import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Outcome, Scenario } from '../../scenario.js';
import { ask } from '../../rig/ask.js';
import type { Scene } from '../../rig/scene.js';
import { cloudEvent, sent } from '../../../test/support/upstream.js';
import { unnoticed } from '../../rig/bystanders.js';
import { sendUnread } from '../../../test/support/raw.js';
import { openNaive, TENANTS } from '../../rig/site.js';
import type { Target } from '../../rig/target.js';

interface Dose {
  readonly organizations: number;
  /** Of each organization. */
  readonly connections: number;
  /** On each connection, one behind the other. */
  readonly requests: number;
  readonly stayMs: number;
  /** Whether they stay long enough to be cut: nothing is held for them in the end. */
  readonly untilCut: boolean;
}

const MB = 1024 * 1024;
/** What all of them together may hold. */
const MAX_HELD = 64 * MB;
/** What may be left of that once they have been cut. */
const MAX_LEFT = 24 * MB;
/** Each takes 64 KiB as often as this: some progress, whenever somebody looks. */
const TAKE_EVERY_MS = 15_000;

/** Weighing collects all garbage, 50 ms of the event loop: it may not be what the others notice at p99. */
const WEIGH_EVERY_MS = 10_000;

/** A bulk check with an answer of some 400 KB. */
const bulkCheck = (key: string): string => {
  const body = JSON.stringify({ contents: Array.from({ length: 1_000 }, () => '?'.repeat(40)) });
  return (
    `POST /v2/asset/check/bulk HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${key}\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${body.length}\r\n\r\n${body}`
  );
};

const attack = async (scene: Scene, target: Target, request: (key: string) => string, dose: Dose): Promise<Outcome> => {
  const { organizations, connections, requests, stayMs, untilCut } = dose;
  const findings: string[] = [];
  let [held, left] = [0, 0];
  const noticed = await unnoticed(scene, target, async () => {
    const before = await target.weigh();
    const sockets: Socket[] = [];
    for (let n = 0; n < organizations * connections; n += 1) {
      const key = target.keys[TENANTS[n % organizations]!]!;
      sockets.push(sendUnread(target.url, request(key).repeat(requests)));
      // They are many and stay; floods are another attack.
      await sleep(100);
    }
    const taking = setInterval(() => {
      for (const socket of sockets) socket.read();
    }, TAKE_EVERY_MS);
    for (const until = Date.now() + stayMs; Date.now() < until; await sleep(Math.min(WEIGH_EVERY_MS, stayMs / 2))) {
      left = (await target.weigh()).memory - before.memory;
      held = Math.max(held, left);
    }
    clearInterval(taking);
    for (const socket of sockets) socket.destroy();
  });
  if (held > MAX_HELD) findings.push(`They hold ${Math.round(held / MB)} MB`);
  if (untilCut && left > MAX_LEFT)
    findings.push(`After ${stayMs / 1_000} s they still hold ${Math.round(left / MB)} MB`);
  return {
    dose: `${organizations * connections} connections of ${organizations} organizations with ${requests} large answers each, 64 KiB of it taken every 15 s`,
    seen: `at most ${Math.round(held / MB)} MB held${untilCut ? `, ${Math.round(left / MB)} MB after ${stayMs / 1_000} s` : ''}; ${noticed.seen}`,
    findings: [...findings, ...noticed.findings],
  };
};

export const slowReaders: Scenario<Dose> = {
  name: 'S29',
  what: 'large answers, read slowly',
  asvs: { '13.1.3': 'Configuration Documentation', '15.2.2': 'Security Architecture and Dependencies' },
  full: {
    organizations: 10,
    connections: 20,
    // As many as a connection may have waiting, and the one being answered.
    requests: 17,
    stayMs: 60_000,
    untilCut: true,
  },
  run: async (scene, dose, site) => attack(scene, await site.service('weighed'), bulkCheck, dose),
  guard: 'answers count for their organization until they have been read',
  counterTest: { organizations: 1, connections: 6, requests: 60, stayMs: 4_000, untilCut: false },
  without: async (scene, dose) => {
    const target = await openNaive(scene);
    const organization = TENANTS[0]!;
    const events = Array.from({ length: 500 }, (_, n) =>
      cloudEvent(sent('ReportFiled', { organization, reportId: `report-${n}`, text: 'x'.repeat(1_000) }, `slow-${n}`)),
    );
    await ask(`${target.url}/v2/events`, { key: organization, events });
    const metrics = (key: string): string =>
      `GET /v2/organization/metrics HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${key}\r\n\r\n`;
    return attack(scene, target, metrics, dose);
  },
};
