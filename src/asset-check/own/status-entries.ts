import { Injectable } from '@nestjs/common';
import { Pool } from 'pg';
import { hashOfKey } from '../../assets/keys.js';
import { EventLog } from '../../event-log/event-log.js';
import { findEvents } from '../../event-log/find-events.js';
import type { AssetStatus } from '../../events/types/asset-statuses.js';
import { parseEvent } from '../../events/event.js';
import { timeOf } from '../../events/record.js';
import { assetStatusStream } from '../../events/streams.js';
import type { RowOf } from '../../postgres/statement.js';
import { NEWEST_STATUS_ENTRIES } from './statements.js';

/** An entry of this service's own status history. */
export interface StatusEntry {
  readonly status: AssetStatus;
  /** When the status began, in ms. */
  readonly from: number;
  /** The brands of the requesting organization that reviewed the asset, in alphabetical order. */
  readonly brands: readonly string[];
  /** The asset that has the status, as upstream reported the asset. */
  readonly match: string;
}

type Row = RowOf<typeof NEWEST_STATUS_ENTRIES>;

const TIME_LIMIT_MS = 2_500;

/** Reads this service's own status history from the read models. */
@Injectable()
export class StatusEntries {
  constructor(
    private readonly pool: Pool,
    private readonly log: EventLog,
  ) {}

  /**
   * @param keys the keys that the asset may be stored under
   * @returns at most `limit` entries, newest first
   */
  async newest(keys: readonly string[], organization: string, limit: number): Promise<StatusEntry[]> {
    const values = { hashes: keys.map(hashOfKey), organization, limit };
    const rows = await NEWEST_STATUS_ENTRIES.run(this.pool, values, TIME_LIMIT_MS);
    const missing = await this.readMissing(rows, organization);
    return rows.map(({ key, content, status, version, eventId, brands }) => ({
      status,
      from: timeOf(version),
      brands: brands ?? missing.get(eventId) ?? [],
      match: content ?? key.slice(key.indexOf(':') + 1),
    }));
  }

  /** Reads brands from the log, for rows that an earlier version wrote without brands. */
  private async readMissing(rows: readonly Row[], organization: string): Promise<ReadonlyMap<string, string[]>> {
    const brands = new Map<string, string[]>();
    const old = rows.filter((row) => row.brands === null);
    for (const hash of new Set(old.map((row) => row.hash))) {
      const ids = new Set(old.filter((row) => row.hash === hash).map(({ eventId }) => eventId));
      for (const [id, { data }] of await findEvents(this.log, assetStatusStream(hash), ids)) {
        const reviews = parseEvent('AssetStatusChanged', data).event?.data.brandReviews ?? [];
        const ownBrands = reviews.filter((review) => review.organization === organization).map(({ brand }) => brand);
        brands.set(id, ownBrands.sort());
      }
    }
    return brands;
  }
}
