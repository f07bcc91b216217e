/** One thing that is wrong with a request. */
export class Issue {
  /** What is wrong, where, and what it must be. */
  message!: string;
}

/** One of many things that were sent, refused. */
export class RejectionDto {
  /** Its place in the request, from 0. */
  index!: number;
  /** Its id, where it has one. */
  id?: string;
  issues!: Issue[];
}

/** The one body of every error. */
export class ErrorBody {
  /**
   * What kind of error it is; one a status.
   * @example "BAD_REQUEST"
   */
  code!: string;
  /**
   * One sentence for the person who reads it.
   * @example "Group name is required"
   */
  message!: string;
  /** Of a batch of events that was refused as a whole. */
  rejected?: RejectionDto[];
  /** Everything that is wrong, where there is more to say than the message does. */
  issues?: Issue[];
}
