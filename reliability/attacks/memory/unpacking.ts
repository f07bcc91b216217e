import type { Outcome, Scenario } from '../../scenario.js';
import type { RunContext } from '../../rig/run-context.js';
import { emptyBlocks } from '../../../test/support/empty-blocks.js';
import { sendUntilAnswered } from '../../../test/support/raw.js';
import { withBystanders } from '../../rig/bystanders.js';
import { runConcurrently } from '../../rig/run-concurrently.js';
import { startNaiveService, TENANTS } from '../../rig/shared-services.js';
import { Statuses } from '../../rig/statuses.js';
import type { Target } from '../../rig/target.js';

interface Scale {
  readonly bodies: number;
  readonly atOnce: number;
}

const MB = 1024 * 1024;
/** 200,000 empty blocks, which take two seconds to decompress to nothing. */
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

const attack = async (context: RunContext, target: Target, { bodies, atOnce }: Scale): Promise<Outcome> => {
  const key = target.keys[TENANTS[11]!]!;
  const statuses = new Statuses();
  const { observed, findings } = await withBystanders(context, target, () =>
    runConcurrently(atOnce, bodies, async (n) => {
      statuses.add(await sendUntilAnswered(target.url, request(key), TIMEOUT_MS));
      context.reportProgress(`${n} of ${bodies} bodies`);
    }),
  );
  return {
    workload: `${bodies} gzip bodies of ${(BODY.length / MB).toFixed(1)} MiB that decompress to nothing, ${atOnce} concurrently`,
    observed: `${statuses}; ${observed}`,
    // An early rejection may reach the sender as a reset (0).
    findings: [...findings, ...statuses.check(0, 400, 429)],
  };
};

export const unpacking: Scenario<Scale> = {
  name: 'S27',
  what: 'compressed bodies that take long to decompress to nothing',
  asvs: { '5.2.3': 'File Upload and Content', '15.2.2': 'Security Architecture and Dependencies' },
  full: { bodies: 2_000, atOnce: 16 },
  run: async (context, scale, sharedServices) => attack(context, await sharedServices.service('weighed'), scale),
  guard: 'a body that is larger compressed than decompressed is rejected while it arrives',
  controlScale: { bodies: 6, atOnce: 3 },
  withoutGuard: async (context, scale) => attack(context, await startNaiveService(context), scale),
};
