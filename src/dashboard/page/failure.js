/** A failed request, with a message for the user. */
export class Failure extends Error {
  /**
   * @param status HTTP status; 0 if there was no response
   * @param retryAfter when to retry, in seconds
   */
  constructor(status, sentence, retryAfter) {
    super(sentence);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

export const NO_KEY = 'This is not a valid key: it may be mistyped, revoked, expired, or without an organization.';
const UNREACHABLE = 'The service cannot be reached. Check your network.';
const TOO_SLOW = 'The service did not answer in time.';

/** Returns the seconds of `Retry-After`. */
const secondsOf = (header) => (/^\d{1,5}$/.test(header ?? '') ? Number(header) : undefined);

const sentenceOf = (status, message, requestId) => {
  if (status === 401) return NO_KEY;
  if (status === 403) return `This key does not have access: ${message}.`;
  if (status >= 500) return `The service has a problem (${status}: ${message}, request ${requestId}).`;
  return `${message}.`;
};

export const failureOf = async (response) => {
  const { message = response.statusText } = await response.json().catch(() => ({}));
  const sentence = sentenceOf(response.status, message, response.headers.get('x-request-id') ?? 'unknown');
  return new Failure(response.status, sentence, secondsOf(response.headers.get('retry-after')));
};

/** Converts an error of `fetch` to a `Failure`. */
export const failureWithoutAnswer = (error) => new Failure(0, error.name === 'TimeoutError' ? TOO_SLOW : UNREACHABLE);

/** Returns the message of a failure, and when to try again. */
export const sentenceOfFailure = ({ message, retryAfter }) =>
  message + (retryAfter === undefined ? '' : ` Try again in ${retryAfter} seconds.`);
