import { RejectionDto } from '../http/errors/error-body.dto.js';

/** A CloudEvent 1.0 in its JSON form. */
export class CloudEventDto {
  /** Always "1.0". */
  specversion!: string;
  /**
   * With `source`, `type` and the record it says which event this is: the same again changes nothing. 1 to 1,024
   * characters, no control characters.
   */
  id!: string;
  /** Where the event comes from: 1 to 1,024 characters, no control characters. */
  source!: string;
  /** What happened, such as `ThreatStatusChanged`. */
  type!: string;
  /** When it happened: RFC 3339 with an offset. */
  time!: string;
  /** The record's full state, by the event's type. */
  data!: Record<string, unknown>;
}

/** The three add up to what was sent. */
export class RecordedEventsDto {
  /** Stored on disk by this request. */
  accepted!: number;
  /** Known already, so nothing was changed. */
  duplicates!: number;
  /** Refused; the others of the batch are kept. */
  rejected!: RejectionDto[];
}
