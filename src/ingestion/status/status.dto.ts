import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayMinSize, IsArray } from 'class-validator';
import { CountedFactDto } from '../counted-fact.dto.js';

const MAX_ASKED = 100;
const EVENTS = `events must be an array of 1 to ${MAX_ASKED} objects with source, id, type and data or record`;
export const EVENT_STATUSES = ['unknown', 'stored', 'counted', 'superseded', 'parked'] as const;

/** Of a request about up to 100 events with their data. */
export const STATUS_BODY = { bodyLimit: 1024 * 1024, json: { depth: 32, values: 20_000 } } as const;

export class EventStatusRequest {
  /**
   * Each event by its `source`, `id` and `type`, and either its `data` or a `record` with the fields of the data that say
   * which record it is about, such as `organization` and `threatId`.
   * @example [{ "source": "https://upstream.example", "id": "threat-5512:approved", "type": "ThreatStatusChanged", "record": { "organization": "acme", "threatId": "threat-5512" } }]
   */
  @IsArray({ message: EVENTS })
  @ArrayMinSize(1, { message: EVENTS })
  @ArrayMaxSize(MAX_ASKED, { message: EVENTS })
  @ApiProperty({ type: 'array', items: { type: 'object' }, minItems: 1, maxItems: MAX_ASKED })
  events!: unknown[];
}

/** The later state of the record. */
export class LaterStateDto {
  /** Its `updatedAt` or `deletedAt`; absent for the deletion of a status entry, which is final. @example "2026-03-02T12:00:00.000Z" */
  @ApiProperty({ type: String, format: 'date-time', required: false })
  at?: string;
  /** Whether it is a deletion. */
  deleted!: boolean;
}

/** Why an event is not counted though it is stored. */
export class ParkedStateDto {
  /** What could not apply it. @example "metrics" */
  projection!: string;
  /** @example "2026-03-01T12:00:01.000Z" */
  @ApiProperty({ type: String, format: 'date-time' })
  since!: string;
  /** @example "data.updatedAt must be an RFC 3339 time with an offset" */
  reason!: string;
}

export class EventStatusDto {
  /**
   * `unknown`: not stored, or not an event of this key. `stored`: not counted yet. `counted`: the newest state of its
   * record. `superseded`: its record has a later state. `parked`: it could not be applied.
   */
  @ApiProperty({ enum: EVENT_STATUSES, example: 'counted' })
  status!: (typeof EVENT_STATUSES)[number];
  /** When the log took it; absent if it is unknown. @example "2026-03-01T12:00:00.000Z" */
  @ApiProperty({ type: String, format: 'date-time', required: false })
  storedAt?: string;
  /** Of a counted one: the metrics it counts in; empty if it counts as nothing. */
  countedAs?: CountedFactDto[];
  /** Of a superseded one. */
  supersededBy?: LaterStateDto;
  /** Of a parked one. */
  parked?: ParkedStateDto;
}

export class EventStatusesDto {
  /** In the order asked. */
  events!: EventStatusDto[];
}
