import { RejectionDto } from '../http/errors/error-body.dto.js';

/** The three add up to what was sent. */
export class RecordedEventsDto {
  /** Stored on disk by this request. */
  accepted!: number;
  /** Known already, so nothing was changed. */
  duplicates!: number;
  /** Refused; the others of the batch are kept. */
  rejected!: RejectionDto[];
}
