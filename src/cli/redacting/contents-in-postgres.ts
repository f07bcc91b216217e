import type { Pool, PoolClient } from 'pg';
import { KEY_VERSION } from '../../assets/keys.js';
import { forEachBatch } from '../../event-log/postgres/batches.js';
import { FIND_ABOUT, FIND_EXPIRED, LOCK_EVENTS, REWRITE_CONTENTS } from '../../event-log/postgres/redaction-sql.js';
import { ERASED_TYPE } from '../../events/streams.js';
import { pause } from '../../flow/retry.js';
import { inTransaction } from '../../postgres/transaction.js';
import { redactContent } from './redact-content.js';
import type { StoredContents } from './stored-contents.js';

/** Positions that are searched before the events found in them are redacted. Bounds the memory of the call. */
const POSITIONS_PER_ROUND = 20_000;
/** Events that are rewritten in one transaction. */
const BATCH = 500;

/** The contents of a log in PostgreSQL, which are replaced in place. */
export class ContentsInPostgres implements StoredContents {
  readonly nodes = [];

  constructor(private readonly pool: Pool) {}

  about(...[hashes, end, onSearched]: Parameters<StoredContents['about']>) {
    const keyVersion = String(KEY_VERSION);
    const find = (connection: PoolClient, from: number, to: number) =>
      FIND_ABOUT.run(connection, { hashes: [...hashes], from, to, keyVersion });
    return this.rounds(end, find, onSearched);
  }

  outdated(...[version, end, onSearched]: Parameters<StoredContents['outdated']>) {
    const find = (connection: PoolClient, from: number, to: number) =>
      FIND_EXPIRED.run(connection, { from, to, version });
    return this.rounds(end, find, onSearched);
  }

  async rewrite(...[events, onRewritten]: Parameters<StoredContents['rewrite']>): Promise<void> {
    for (let from = 0; from < events.length; from += BATCH) {
      const positions = events.slice(from, from + BATCH).map(({ position }) => position);
      const startedAt = performance.now();
      await inTransaction(this.pool, async (connection) => {
        const stored = await LOCK_EVENTS.run(connection, { positions });
        const contents = stored
          .filter(({ type }) => type !== ERASED_TYPE)
          .map((event) => {
            const { data, metadata } = redactContent(event);
            return { position: event.position, data: JSON.stringify(data), metadata: JSON.stringify(metadata) };
          });
        await REWRITE_CONTENTS.runEach(connection, contents);
      });
      onRewritten(Math.min(from + BATCH, events.length));
      await pause(performance.now() - startedAt);
    }
  }

  private async *rounds<Row>(
    end: number,
    find: (connection: PoolClient, from: number, to: number) => Promise<Row[]>,
    onSearched: (position: number) => void,
  ): AsyncGenerator<readonly Row[]> {
    for (let from = 0; from < end; from += POSITIONS_PER_ROUND) {
      const found: Row[] = [];
      const search = async (connection: PoolClient, first: number, next: number): Promise<void> => {
        found.push(...(await find(connection, first, next)));
      };
      await forEachBatch(this.pool, { from, to: Math.min(from + POSITIONS_PER_ROUND, end) }, search, onSearched);
      yield found;
    }
  }
}
