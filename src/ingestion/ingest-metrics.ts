import { Injectable } from '@nestjs/common';
import { Counter, Histogram, Registry } from 'prom-client';
import type { RejectionGroup } from './rejections/rejection-groups.js';

const BATCH_SIZES = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000];

/** Metrics of ingested events. Every label has a fixed set of values. */
@Injectable()
export class IngestMetrics {
  private readonly events: Counter<'type' | 'outcome' | 'reason'>;
  private readonly guarded: Counter;
  private readonly queryDropped: Counter;
  private readonly bytes: Counter;
  private readonly batches: Histogram;

  constructor(registry: Registry) {
    const registers = [registry];
    this.events = new Counter({
      name: 'threat_protection_ingest_events_total',
      help: 'Events by type (other: not an upstream type), outcome and, if rejected, reason',
      labelNames: ['type', 'outcome', 'reason'],
      registers,
    });
    this.guarded = new Counter({
      name: 'threat_protection_ingest_guarded_blocks_total',
      help: 'Stored events that block a host of a guard as a whole',
      registers,
    });
    this.queryDropped = new Counter({
      name: 'threat_protection_ingest_pages_without_query_total',
      help: 'Stored statuses of a page whose link has parameters that do not name the page',
      registers,
    });
    this.bytes = new Counter({
      name: 'threat_protection_ingest_bytes_total',
      help: 'Bytes of event bodies, decompressed',
      registers,
    });
    this.batches = new Histogram({
      name: 'threat_protection_ingest_batch_events',
      help: 'Events per request',
      buckets: BATCH_SIZES,
      registers,
    });
  }

  addRequest(bytes: number, events: number, groups: readonly RejectionGroup[]): void {
    this.bytes.inc(bytes);
    this.batches.observe(events);
    for (const { type, reason, count } of groups) this.events.inc({ type, outcome: 'rejected', reason }, count);
  }

  addGuarded(events: number): void {
    this.guarded.inc(events);
  }

  addQueryDropped(events: number): void {
    this.queryDropped.inc(events);
  }

  /** @param type an upstream type */
  add(outcome: 'accepted' | 'duplicate', type: string, count: number): void {
    this.events.inc({ type, outcome, reason: '' }, count);
  }
}
