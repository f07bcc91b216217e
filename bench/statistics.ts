/** Lower quartile, median and upper quartile. */
export interface Quartiles {
  readonly lower: number;
  readonly median: number;
  readonly upper: number;
}

/** Returns a quantile, interpolated linearly between two values. */
export const quantile = (values: readonly number[], fraction: number): number => {
  if (values.length === 0) throw new RangeError('An empty set has no quantiles');
  const sorted = [...values].sort((a, b) => a - b);
  const place = (sorted.length - 1) * fraction;
  const below = sorted[Math.floor(place)]!;
  const above = sorted[Math.ceil(place)]!;
  return below + (above - below) * (place - Math.floor(place));
};

export const quartilesOf = (values: readonly number[]): Quartiles => ({
  lower: quantile(values, 0.25),
  median: quantile(values, 0.5),
  upper: quantile(values, 0.75),
});

/** Returns the quartiles of `scale` ÷ value: durations from rates, or ratios of durations from ratios of rates. */
export const reciprocalsOf = ({ lower, median, upper }: Quartiles, scale = 1): Quartiles => ({
  lower: scale / upper,
  median: scale / median,
  upper: scale / lower,
});
