import { RejectionDto } from '../http/errors/error-body.dto.js';

/** The three add up to the number of events sent. */
export class RecordedEventsDto {
  /** Stored on disk by this request. */
  accepted!: number;
  /** Already stored; nothing was changed. */
  duplicates!: number;
  /** Rejected; the other events of the batch are kept. */
  rejected!: RejectionDto[];
}
