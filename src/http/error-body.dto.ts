/** One thing that is wrong with a request. */
export class Issue {
  /** What is wrong, where, and what it must be. */
  message!: string;
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
  /** Everything that is wrong, where there is more to say than the message does. */
  issues?: Issue[];
}
