import { Injectable } from '@nestjs/common';
import { Pool } from 'pg';
import { hashOfKey } from '../assets/asset-key.js';
import { EventLog } from '../event-log/event-log.js';
import { findEvents } from '../event-log/find-events.js';
import type { AssetStatus } from '../events/asset-statuses.js';
import { parseEvent } from '../events/event.js';
import { NEWEST_STATUS_ENTRIES } from './statements.js';

/** An entry of this service's own status history. */
export interface StatusEntry {
  readonly status: AssetStatus;
  /** ms */
  readonly from: number;
  /** The asking organization's brands that reviewed it, sorted. */
  readonly brands: readonly string[];
  /** The key of the asset the status is for. */
  readonly key: string;
}

interface Row {
  key: string;
  hash: string;
  status: AssetStatus;
  version: number;
  eventId: string;
  /** Null: written by an earlier version, which did not store them. */
  brands: string[] | null;
}

const TIME_LIMIT_MS = 2_500;

/** This service's own status history, as projected. */
@Injectable()
export class StatusEntries {
  constructor(
    private readonly pool: Pool,
    private readonly log: EventLog,
  ) {}

  /**
   * @param keys under which the asset may be known
   * @returns at most `limit` entries, newest first
   */
  async newest(keys: readonly string[], organization: string, limit: number): Promise<StatusEntry[]> {
    const values = [keys.map(hashOfKey), organization, limit];
    const query = { ...NEWEST_STATUS_ENTRIES, values, query_timeout: TIME_LIMIT_MS };
    const { rows } = await this.pool.query<Row>(query);
    const unsaid = await this.readUnsaid(rows, organization);
    return rows.map(({ key, status, version, eventId, brands }) => ({
      status,
      from: Math.floor(version / 2),
      brands: brands ?? unsaid.get(eventId) ?? [],
      key,
    }));
  }

  /** The brands missing from rows of an earlier version, read from the log. */
  private async readUnsaid(rows: readonly Row[], organization: string): Promise<ReadonlyMap<string, string[]>> {
    const brands = new Map<string, string[]>();
    const old = rows.filter((row) => row.brands === null);
    for (const hash of new Set(old.map((row) => row.hash))) {
      const ids = new Set(old.filter((row) => row.hash === hash).map(({ eventId }) => eventId));
      for (const [id, { data }] of await findEvents(this.log, `assetStatus-${hash}`, ids)) {
        const reviews = parseEvent('AssetStatusChanged', data).event?.data.brandReviews ?? [];
        const own = reviews.filter((review) => review.organization === organization).map(({ brand }) => brand);
        brands.set(id, own.sort());
      }
    }
    return brands;
  }
}
