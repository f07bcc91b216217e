import type { Outcome, Scenario } from '../../scenario.js';
import type { Scene } from '../../rig/scene.js';
import { emptyBlocks } from '../../../test/support/empty-blocks.js';
import { sendUntilAnswered } from '../../../test/support/raw.js';
import { unnoticed } from '../../rig/bystanders.js';
import { inLanes } from '../../rig/lanes.js';
import { openNaive, TENANTS } from '../../rig/site.js';
import { Statuses } from '../../rig/statuses.js';
import type { Target } from '../../rig/target.js';

interface Dose {
  readonly bodies: number;
  readonly atOnce: number;
}

const MB = 1024 * 1024;
/** 200,000 blocks: two seconds of a thread, and nothing comes out. */
const BODY = emptyBlocks(Math.round(2.2 * MB));
const PIECE = 64 * 1024;
const TIMEOUT_MS = 15_000;

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

const attack = async (scene: Scene, target: Target, { bodies, atOnce }: Dose): Promise<Outcome> => {
  const key = target.keys[TENANTS[11]!]!;
  const statuses = new Statuses();
  const { seen, findings } = await unnoticed(scene, target, () =>
    inLanes(atOnce, bodies, async (n) => {
      statuses.note(await sendUntilAnswered(target.url, request(key), TIMEOUT_MS));
      scene.tell(`${n} of ${bodies} bodies`);
    }),
  );
  return {
    dose: `${bodies} gzip bodies of ${(BODY.length / MB).toFixed(1)} MiB that hold nothing, ${atOnce} at once`,
    seen: `${statuses}; ${seen}`,
    // An early refusal may reach a sender as a reset: 0.
    findings: [...findings, ...statuses.check(0, 400, 429)],
  };
};

export const unpacking: Scenario<Dose> = {
  name: 'S27',
  what: 'compressed bodies that take long to decompress and hold nothing',
  asvs: { '5.2.3': 'File Upload and Content', '15.2.2': 'Security Architecture and Dependencies' },
  full: { bodies: 2_000, atOnce: 16 },
  run: async (scene, dose, site) => attack(scene, await site.service('weighed'), dose),
  guard: 'a body larger packed than unpacked is refused while it arrives',
  counterTest: { bodies: 6, atOnce: 3 },
  without: async (scene, dose) => attack(scene, await openNaive(scene), dose),
};
