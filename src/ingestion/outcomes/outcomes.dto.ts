import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayMinSize, IsArray } from 'class-validator';
import { IsOpaqueText, IsLimit, IsGivenOnce, IsOneOf } from '../../http/parameters.js';
import { UPSTREAM_TYPES } from '../../events/event.js';
import { Issue } from '../../http/errors/error-body.dto.js';
import { REJECT_REASONS, type RejectReason } from './rejection-log.js';
import { CountedFactDto } from '../receive/events.dto.js';
import { type Outcome, OUTCOMES } from './usage-log.js';
import { limit } from '../../limits.js';

const DEFAULT_LIMIT = 50;
export const CURSOR_RULE = 'cursor must be the nextCursor of the previous page';

/** Selects a page of a list. */
export class PageRequest {
  /**
   * Items per page, 1 to 100. Default: 50.
   * @example 50
   */
  @IsLimit(100, DEFAULT_LIMIT)
  limit?: string;

  /** The `nextCursor` of the previous page. Absent for the first page. */
  @IsOpaqueText(CURSOR_RULE)
  cursor?: string;
}

export const limitOf = ({ limit }: PageRequest): number => Number(limit ?? DEFAULT_LIMIT);

/** An event that is stored and that a projection could not apply. */
export class ParkedEventDto {
  /** The `source` of the event, as sent. Null if the log does not contain the `source`. @example "https://upstream.example" */
  @ApiProperty({ type: String, nullable: true })
  source!: string | null;
  /** The `id` of the event, as sent. Null if the log does not contain the `id`. @example "threat-5512:approved" */
  @ApiProperty({ type: String, nullable: true })
  id!: string | null;
  /** @example "ThreatStatusChanged" */
  type!: string;
  /** The projection that could not apply the event. All other projections have applied the event. @example "metrics" */
  projection!: string;
  /** When the event was parked. @example "2026-03-01T12:00:01.000Z" */
  @ApiProperty({ type: String, format: 'date-time' })
  since!: string;
  /** When the event was stored in the log. Null if this time was not kept. @example "2026-03-01T12:00:00.000Z" */
  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  storedAt!: string | null;
  /** How often the projection has tried to apply the event. @example 1 */
  @ApiProperty({ type: 'integer', minimum: 1 })
  attempts!: number;
  /** @example "data.updatedAt must be an RFC 3339 time with an offset" */
  reason!: string;
}

export class ParkedPageDto {
  /** The parked events, in descending order of their position in the log. */
  items!: ParkedEventDto[];
  /** The cursor of the next page. Absent on the last page. */
  nextCursor?: string;
}

const TYPES = [...UPSTREAM_TYPES, 'other'];

export class RejectionsRequest extends PageRequest {
  /**
   * Returns only rejections of this UTC day and later days.
   * @example "2026-03-01"
   */
  @IsGivenOnce()
  @ApiProperty({ type: String, format: 'date', required: false })
  from?: string;

  /** Returns only rejections for this reason. */
  @IsOneOf(REJECT_REASONS)
  reason?: RejectReason;

  /** Returns only events of this type. `other` stands for every type that upstream may not send. */
  @IsOneOf(TYPES)
  type?: string;
}

/** The first of the rejected events, as sent, but truncated. */
export class RejectedSampleDto {
  /** @example "threat-5512:approved" */
  @ApiProperty({ type: String, nullable: true })
  id!: string | null;
  /** @example "https://upstream.example" */
  source!: string;
  /** @example "ThreatStatusChanged" */
  type!: string;
  /** The data as JSON, truncated after 2 KiB. Truncated data is not valid JSON. */
  @ApiProperty({ type: String, nullable: true, example: '{"organization":"acme","threatId":"threat-5512"}' })
  data!: string | null;
  /** The problems found in the event, at most 10. */
  issues!: Issue[];
}

/** Events of one UTC day, key, reason and type. */
export class RejectedEventsDto {
  /** @example "2026-03-01" */
  @ApiProperty({ type: String, format: 'date' })
  day!: string;
  /** The id of the key that sent the events. @example "key_8f2c4d6e8a0b1c2d" */
  keyId!: string;
  /**
   * `attributes`: a CloudEvents attribute is missing or invalid, or the event cannot be parsed. `data`: the data does not
   * match the schema of the type. `unknown-type`: the type does not exist. `own-type`: the type is reserved for the
   * service. `not-permitted`: this key may not send the event. `erased`: the organization of the event was erased.
   */
  @ApiProperty({ enum: REJECT_REASONS, example: 'data' })
  reason!: RejectReason;
  /** The event type. `other` stands for every type that upstream may not send. @example "ThreatStatusChanged" */
  type!: string;
  /** @example 3 */
  @ApiProperty({ type: 'integer', minimum: 1 })
  count!: number;
  /** When the last of these events arrived. @example "2026-03-01T12:00:00.000Z" */
  @ApiProperty({ type: String, format: 'date-time' })
  lastAt!: string;
  sample!: RejectedSampleDto;
}

export class RejectionPageDto {
  /**
   * The rejections, newest day first. Rejections of the last second may be missing. If there are more than 10,000 rows in
   * total, the oldest days are dropped.
   */
  items!: RejectedEventsDto[];
  /** The cursor of the next page. Absent on the last page. */
  nextCursor?: string;
}

const MAX_EVENTS = limit('`POST /v2/events/status`', 100, 'events', 'request', '400');
const EVENTS = `events must be an array of 1 to ${MAX_EVENTS} objects with source, id, type, and data or record`;
const EVENT_STATUSES = ['unknown', 'stored', 'counted', 'superseded', 'parked'] as const;

/** The limits of a request about up to 100 events with their data. */
export const STATUS_BODY = { bodyLimit: 1024 * 1024, json: { depth: 32, values: 20_000 } } as const;

const ANY_OBJECT = { type: 'object', additionalProperties: true } as const;

/** The schema of one event of the request. `readNamedEvent` validates the events one by one. */
const NAMED_EVENT = {
  type: 'object',
  required: ['source', 'id', 'type'],
  properties: {
    source: { type: 'string', description: 'The `source` of the event.' },
    id: { type: 'string', description: 'The `id` of the event.' },
    type: { type: 'string', description: 'The type of the event.' },
    data: { ...ANY_OBJECT, description: 'The data of the event.' },
    record: { ...ANY_OBJECT, description: 'The fields of the data that identify the record.' },
  },
};

export class EventStatusRequest {
  /**
   * Each event is identified by its `source`, `id` and `type`, and by either its `data` or a `record` with the fields
   * of the data that identify the record, such as `organization` and `threatId`.
   * @example [{ "source": "https://upstream.example", "id": "ThreatStatusChanged-1", "type": "ThreatStatusChanged", "record": { "organization": "acme", "threatId": "threat-5512" } }]
   */
  @IsArray({ message: EVENTS })
  @ArrayMinSize(1, { message: EVENTS })
  @ArrayMaxSize(MAX_EVENTS, { message: EVENTS })
  @ApiProperty({ type: 'array', items: NAMED_EVENT, minItems: 1, maxItems: MAX_EVENTS })
  events!: unknown[];
}

/** The later state of the record. */
export class LaterStateDto {
  /** The `updatedAt` or `deletedAt` of the later state. Absent for the deletion of a status entry, which is final. @example "2026-03-02T12:00:00.000Z" */
  @ApiProperty({ type: String, format: 'date-time', required: false })
  at?: string;
  /** Whether the later state is a deletion. @example false */
  deleted!: boolean;
}

/** Why a stored event is not counted. */
export class ParkedStateDto {
  /** The projection that could not apply the event. @example "metrics" */
  projection!: string;
  /** @example "2026-03-01T12:00:01.000Z" */
  @ApiProperty({ type: String, format: 'date-time' })
  since!: string;
  /** @example "data.updatedAt must be an RFC 3339 time with an offset" */
  reason!: string;
}

export class EventStatusDto {
  /**
   * `unknown`: the event is not stored, or not visible to this key. `stored`: the event is not counted yet. `counted`: the
   * event is the newest state of its record. `superseded`: the record has a later state. `parked`: the event could not be
   * applied.
   */
  @ApiProperty({ enum: EVENT_STATUSES, example: 'counted' })
  status!: (typeof EVENT_STATUSES)[number];
  /** When the event was stored in the log. Absent if the event is `unknown`. @example "2026-03-01T12:00:00.000Z" */
  @ApiProperty({ type: String, format: 'date-time', required: false })
  storedAt?: string;
  /**
   * The metrics in which a `counted` event counts. Empty if the event counts in no metric.
   * @example [{ "organization": "acme", "measure": "newThreats", "day": "2026-03-01", "type": "URL" }]
   */
  countedAs?: CountedFactDto[];
  /** The later state of the record. Present only if the event is `superseded`. */
  supersededBy?: LaterStateDto;
  /** Why the event is parked. Present only if the event is `parked`. */
  parked?: ParkedStateDto;
}

export class EventStatusesDto {
  /** The statuses, in the order of the request. */
  events!: EventStatusDto[];
}

export class EventUsageRequest {
  /**
   * The first UTC day. Default: 89 days ago, which is also the earliest day.
   * @example "2026-03-01"
   */
  @IsGivenOnce()
  @ApiProperty({ type: String, format: 'date', required: false })
  from?: string;

  /**
   * The last UTC day. Default: today.
   * @example "2026-03-31"
   */
  @IsGivenOnce()
  @ApiProperty({ type: String, format: 'date', required: false })
  to?: string;
}

/** Events of one UTC day, type and outcome. */
export class DayUsageDto {
  /** @example "2026-03-01" */
  @ApiProperty({ type: String, format: 'date' })
  day!: string;
  /**
   * The event type. `other` stands for every type that upstream may not send.
   * @example "ThreatStatusChanged"
   */
  type!: string;
  @ApiProperty({ enum: OUTCOMES, example: 'accepted' })
  outcome!: Outcome;
  /** @example 120 */
  @ApiProperty({ type: 'integer', minimum: 1 })
  events!: number;
}

export class QuotaAmountDto {
  /** The quota of one UTC day. @example 10000000 */
  @ApiProperty({ type: 'integer', minimum: 1 })
  limit!: number;
  /** The remaining quota of today. @example 9999880 */
  @ApiProperty({ type: 'integer', minimum: 0 })
  left!: number;
}

/** The organization's quota for one UTC day. Changes of groups, group members, webhooks and disputes also count against it. */
export class EventQuotaDto {
  /** The number of events that may be stored. Absent if there is no limit. */
  events?: QuotaAmountDto;
  /** The number of bytes: uncompressed request bodies with events, and the stored events of other changes. Absent if there is no limit. */
  bytes?: QuotaAmountDto;
  /** When the quota resets. @example "2026-03-04T00:00:00.000Z" */
  @ApiProperty({ type: String, format: 'date-time' })
  resetsAt!: string;
}

export class EventUsageDto {
  /**
   * Counts by day, type and outcome. A combination without events has no item. Events of the last second may be missing.
   */
  usage!: DayUsageDto[];
  /** The quota. Absent for a key without an organization, or if neither events nor bytes are limited. */
  quota?: EventQuotaDto;
}
