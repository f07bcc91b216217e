interface Accepted {
  /** Lower case, without parameters. */
  readonly type: string;
  readonly weight: number;
}

const readAccepted = (range: string): Accepted => {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
  const weight = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1);
  return { type, weight: weight >= 0 && weight <= 1 ? weight : 0 };
};

/** A media type's weight: that of the most specific range that matches it. */
const weightOf = (type: string, accepted: readonly Accepted[]): number => {
  const ranges = [type, `${type.slice(0, type.indexOf('/'))}/*`, '*/*'];
  for (const range of ranges) {
    const found = accepted.find((one) => one.type === range);
    if (found) return found.weight;
  }
  return 0;
};

/**
 * The offered media type that the client prefers (RFC 9110, 12.5.1). The first one on a tie, without a preference, and
 * if it accepts none of them: a readable answer is better than a refusal.
 * @param accept the request's `Accept`
 * @param offered without parameters
 */
export const preferredType = (accept: string | undefined, offered: readonly [string, ...string[]]): string => {
  if (accept === undefined) return offered[0];
  const accepted = accept.split(',').map(readAccepted);
  const weights = offered.map((type) => weightOf(type, accepted));
  return offered[weights.indexOf(Math.max(...weights))]!;
};

/** @param encodings the request's `Accept-Encoding` */
export const takesGzip = (encodings: string): boolean =>
  encodings.split(',').some((encoding) => {
    const { type, weight } = readAccepted(encoding);
    return type === 'gzip' && weight > 0;
  });
