interface Accepted {
  /** Lower-case, without parameters. */
  readonly type: string;
  readonly weight: number;
}

const readAccepted = (range: string): Accepted => {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
  const weight = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1);
  return { type, weight: weight >= 0 && weight <= 1 ? weight : 0 };
};

/** The weight of a media type: that of the range which names it most closely. */
const weightOf = (type: string, accepted: readonly Accepted[]): number => {
  const ranges = [type, `${type.slice(0, type.indexOf('/'))}/*`, '*/*'];
  for (const range of ranges) {
    const found = accepted.find((one) => one.type === range);
    if (found) return found.weight;
  }
  return 0;
};

/**
 * Which of the media types that a route offers the client likes best (RFC 9110, 12.5.1). The first one where it likes
 * several as well, or says nothing, or takes none of them: an answer that can be read is better than a refusal.
 * @param accept the request's `Accept`
 * @param offered without parameters
 */
export const preferredType = (accept: string | undefined, offered: readonly [string, ...string[]]): string => {
  if (accept === undefined) return offered[0];
  const accepted = accept.split(',').map(readAccepted);
  const weights = offered.map((type) => weightOf(type, accepted));
  return offered[weights.indexOf(Math.max(...weights))]!;
};
