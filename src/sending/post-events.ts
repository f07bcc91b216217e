/** An event to send. */
export interface Sendable {
  /** The CloudEvent as JSON, on one line. */
  readonly json: string;
  /** Its origin, such as file and line, shown if it is rejected. */
  readonly place: string;
  /** Progress from 0 to 1 at its end; absent if unknown. */
  readonly part?: number | undefined;
}

export interface Refusal {
  readonly place: string;
  readonly id?: string;
  readonly issues: readonly string[];
}

export interface IngestionEndpoint {
  /** Without the path: `http://127.0.0.1:3000`. */
  readonly url: string;
  readonly key: string;
  /** Whether the endpoint only says how it would treat the events. Default: false. */
  readonly isDryRun?: boolean;
}

const TIME_LIMIT_MS = 30_000;

interface Noted {
  readonly index: number;
  readonly id?: string;
  readonly issues: readonly { readonly message: string }[];
}

interface Answer {
  readonly accepted?: number;
  readonly duplicates?: number;
  readonly rejected?: readonly Noted[];
  readonly warnings?: readonly Noted[];
  readonly message?: string;
  readonly issues?: readonly { message: string }[];
}

/** Every event of a batch rejected as a whole, with its own issues if the answer has them. */
export const refusedAll = (batch: readonly Sendable[], { message = 'refused', issues = [] }: Answer): Refusal[] => {
  const own = batch.map((): string[] => []);
  for (const { message: issue } of issues) {
    const [, index, text] = /^event (\d+): (.*)$/s.exec(issue) ?? [];
    own[Number(index)]?.push(text!);
  }
  return batch.map(({ place }, index) => ({ place, issues: own[index]!.length > 0 ? own[index]! : [message] }));
};

/** The events of a batch that an answer names. */
export const placed = (batch: readonly Sendable[], noted: readonly Noted[] = []): Refusal[] =>
  noted.map(({ index, id, issues }) => ({
    place: batch[index]!.place,
    ...(id !== undefined && { id }),
    issues: issues.map(({ message }) => message),
  }));

/** The endpoint could not take the batch; whether it was stored is unknown. */
export class Refused extends Error {
  constructor(
    reason: string,
    readonly retryAfterMs: number,
  ) {
    super(reason);
  }
}

const reasonOf = (error: unknown): string => {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message || (cause as NodeJS.ErrnoException).code}` : message;
};

/** @throws Refused if the same batch should be sent again; Error if that would not help */
export const post = async (
  batch: readonly Sendable[],
  endpoint: IngestionEndpoint,
  signal: AbortSignal | undefined,
) => {
  const { url, key, isDryRun = false } = endpoint;
  const limit = AbortSignal.timeout(TIME_LIMIT_MS);
  let response: Response;
  let answer: Answer;
  try {
    response = await fetch(new URL(isDryRun ? '/v2/events?dryRun=true' : '/v2/events', url), {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/cloudevents-batch+json' },
      body: `[${batch.map(({ json }) => json).join(',')}]`,
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    });
    answer = (await response.json()) as Answer;
  } catch (error) {
    throw new Refused(reasonOf(error), 0);
  }
  const { status } = response;
  if (status === 200 || status === 400 || status === 413)
    return { status, answer, token: response.headers.get('consistency-token') };
  const reason = `${url} answered ${status}: ${answer.message ?? response.statusText}`;
  if (status === 429 || (status >= 502 && status <= 504))
    throw new Refused(reason, 1_000 * Number(response.headers.get('retry-after') ?? 0) || 0);
  throw new Error(reason);
};
