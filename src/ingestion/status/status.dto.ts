import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayMinSize, IsArray } from 'class-validator';
import { CountedFactDto } from '../counted-fact.dto.js';

const MAX_EVENTS = 100;
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
