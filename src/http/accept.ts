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

/** Returns the weight of a media type, which is the weight of the most specific range that matches. */
const weightOf = (type: string, accepted: readonly Accepted[]): number => {
  const ranges = [type, `${type.slice(0, type.indexOf('/'))}/*`, '*/*'];
  for (const range of ranges) {
    const found = accepted.find((one) => one.type === range);
    if (found) return found.weight;
  }
  return 0;
};

/**
 * Returns the offered media type that the client prefers (RFC 9110, 12.5.1). If the client prefers several types
 * equally, sends no `Accept` header or accepts none of the types, returns the first type: a response in another type is
 * better than a 406.
 * @param accept the header `Accept` of the request
 * @param offered media types without parameters
 */
export const preferredType = (accept: string | undefined, offered: readonly [string, ...string[]]): string => {
  if (accept === undefined) return offered[0];
  const accepted = accept.split(',').map(readAccepted);
  const weights = offered.map((type) => weightOf(type, accepted));
  return offered[weights.indexOf(Math.max(...weights))]!;
};

/** @param encodings the header `Accept-Encoding` of the request */
export const acceptsGzip = (encodings: string): boolean =>
  encodings.split(',').some((encoding) => {
    const { type, weight } = readAccepted(encoding);
    return type === 'gzip' && weight > 0;
  });
