import type { Outcome } from '../faults/fault.js';
import type { Scene } from '../faults/rig/scene.js';
import { emptyBlocks } from '../support/empty-blocks.js';
import { sendUntilAnswered } from '../support/raw.js';
import type { Attack } from './attack.js';
import { IMPATIENT, LENIENT, type Limits, STRICT, unnoticed } from './rig/bystanders.js';
import { inLanes } from './rig/lanes.js';
import { openNaive, openService, TENANTS } from './rig/site.js';
import type { Target } from './rig/target.js';

interface Dose {
  readonly bodies: number;
  readonly atOnce: number;
  readonly quietMs: number;
  readonly limits: Limits;
}

const MB = 1024 * 1024;
/** 200,000 blocks: two seconds of a thread, and nothing comes out. */
const BODY = emptyBlocks(Math.round(2.2 * MB));
const PIECE = 64 * 1024;
const PATIENCE_MS = 15_000;

const chunk = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);

function* request(key: string): Generator<string | Buffer> {
  yield (
    `POST /v2/asset/check/bulk HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${key}\r\nContent-Type: application/json\r\n` +
    'Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n'
  );
  for (let sent = 0; sent < BODY.length; sent += PIECE) yield chunk(BODY.subarray(sent, sent + PIECE));
  yield '0\r\n\r\n';
}

const attack = async (scene: Scene, target: Target, { bodies, atOnce, quietMs, limits }: Dose): Promise<Outcome> => {
  const key = target.keys[TENANTS[11]!]!;
  const statuses = new Map<number, number>();
  const { seen, findings } = await unnoticed(scene, target, { quietMs, limits }, () =>
    inLanes(atOnce, bodies, async (n) => {
      const status = await sendUntilAnswered(target.url, request(key), PATIENCE_MS);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      scene.tell(`${n} of ${bodies} bodies`);
    }),
  );
  // An early refusal may reach a sender as a reset: 0.
  const odd = [...statuses].filter(([status]) => ![0, 400, 429].includes(status));
  return {
    dose: `${bodies} gzip bodies of ${(BODY.length / MB).toFixed(1)} MiB that hold nothing, ${atOnce} at once`,
    seen: `${[...statuses].map(([status, n]) => `${n} × ${status || 'cut'}`).join(', ')}; ${seen}`,
    findings: [...findings, ...odd.map(([status, n]) => `${n} were answered ${status}`)],
  };
};

export const unpacking: Attack<Dose> = {
  name: 'S27',
  what: 'compressed bodies that take long to decompress and hold nothing',
  asvs: { '5.2.3': 'File Upload and Content', '15.2.2': 'Security Architecture and Dependencies' },
  doses: {
    short: { bodies: 40, atOnce: 8, quietMs: 1_000, limits: LENIENT },
    full: { bodies: 2_000, atOnce: 16, quietMs: 10_000, limits: STRICT },
  },
  run: async ({ scene }, dose) => {
    const target = await openService(scene);
    const outcome = await attack(scene, target, dose);
    await target.service.stop();
    return outcome;
  },
  guard: 'a body larger packed than unpacked is refused while it arrives',
  without: async ({ scene }) =>
    attack(scene, await openNaive(scene), { bodies: 6, atOnce: 3, limits: IMPATIENT, quietMs: 200 }),
};
