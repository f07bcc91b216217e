import type { Pool } from 'pg';
import type { Loaded } from '../event-log/command-queue.js';
import type { EventLog } from '../event-log/event-log.js';
import { readTail } from '../event-log/stream-tail.js';
import { parseEvent } from '../events/event.js';
import { hashOf } from '../events/stored-key.js';
import { disputesStream, disputeStream } from '../events/streams.js';
import { type Disputes, type FileCommand, evolve } from './dispute.js';
import { KNOWN_DISPUTES } from './statements.js';

export interface LoadedDisputes extends Disputes, Loaded {}

/** With the longest contents and reasons, this many events take about 15 MB. */
const MAX_TAIL = 1_000;
const TIME_LIMIT_MS = 2_500;

/**
 * Loads what these commands need, including what other instances have filed: the read model, plus the events in the
 * stream that the read model does not include yet. An open dispute about the asset of a command is closed if its own
 * stream has a resolution that the read model does not include yet.
 * @throws Unavailable if the read model is too far behind
 */
export const loadDisputes = async (
  pool: Pool,
  log: EventLog,
  organization: string,
  commands: readonly FileCommand[],
): Promise<LoadedDisputes> => {
  const assets = [...new Set(commands.map(({ hash }) => hash))];
  const keyHashes = commands.flatMap(({ request }) => request?.idempotencyKeyHash ?? []);
  const rows = await KNOWN_DISPUTES.run(pool, { organization, assets, keyHashes }, TIME_LIMIT_MS);
  const { now, reached, openCount } = rows[0]!;
  const disputes: Disputes = { open: new Map(), openCount, byRequest: new Map() };
  for (const { asset, isOpen, filed } of rows) {
    const dispute = filed === null ? undefined : parseEvent('DisputeFiled', filed).event?.data;
    if (dispute === undefined) continue;
    if (isOpen) disputes.open.set(asset!.replaceAll('-', ''), dispute);
    if (dispute.idempotencyKeyHash !== undefined) disputes.byRequest.set(dispute.idempotencyKeyHash, dispute);
  }
  const tail = {
    stream: disputesStream(organization),
    types: ['DisputeFiled'] as const,
    after: BigInt(reached ?? -1),
    maxEvents: MAX_TAIL,
    name: 'disputes',
  };
  const revision = await readTail(log, tail, (event, { metadata, copyOf }) => {
    evolve(disputes, event.data, hashOf({ event, metadata }));
    // A redaction copies disputes that the read model counts.
    if (copyOf !== undefined) disputes.openCount -= 1;
  });
  for (const hash of assets) {
    const { disputeId } = disputes.open.get(hash) ?? {};
    if (disputeId === undefined) continue;
    const resolutions = {
      stream: disputeStream(organization, disputeId),
      types: ['DisputeResolved'] as const,
      after: -1n,
      maxEvents: MAX_TAIL,
      name: 'disputes',
    };
    await readTail(log, resolutions, () => disputes.open.delete(hash));
  }
  return { ...disputes, revision, now };
};
