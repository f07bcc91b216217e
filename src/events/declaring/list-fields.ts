import { type Field, field, isSlug, isUpperCaseName, type JsonSchema, orAbsent, SLUG_SCHEMA } from './fields.js';
import { MAX_LIST, type Reading } from './reading.js';

export interface BrandReview {
  readonly organization: string;
  readonly brand: string;
}

const readList = (value: unknown, path: string, reading: Reading): readonly unknown[] => {
  if (Array.isArray(value) && value.length <= reading.maxList) return value;
  reading.refuse(path, `must be an array of at most ${reading.maxList}`);
  return [];
};

/** Distinct slugs. */
export const slugs = (description: string): Field<readonly string[]> =>
  field({ type: 'array', maxItems: MAX_LIST, items: SLUG_SCHEMA, description }, (value, path, reading) => {
    const values = readList(value, path, reading);
    if (values.every(isSlug)) return [...new Set(values)];
    reading.refuse(path, 'must contain only slugs: 1 to 64 of a-z 0-9 -, not beginning with -');
    return [];
  });

export const REVIEW_SCHEMA: JsonSchema = {
  type: 'object',
  required: ['organization', 'brand'],
  properties: {
    organization: { ...SLUG_SCHEMA, description: 'The organization that owns the brand.' },
    brand: { ...SLUG_SCHEMA, description: 'The slug, as in `BrandRegistered`.' },
  },
};

const readReviews: Field<readonly BrandReview[]>['read'] = (value, path, reading) => {
  const reviews = new Map<string, BrandReview>();
  for (const item of readList(value, path, reading)) {
    const { organization, brand } = (item ?? {}) as Record<string, unknown>;
    if (!isSlug(organization) || !isSlug(brand)) {
      reading.refuse(path, 'must contain only objects { organization, brand } of slugs');
      return [];
    }
    reviews.set(`${organization}:${brand}`, { organization, brand });
  }
  return [...reviews.values()];
};

/** Distinct pairs of organization and brand. */
export const brandReviews = (description: string): Field<readonly BrandReview[]> => ({
  ...field({ type: 'array', maxItems: MAX_LIST, items: REVIEW_SCHEMA, description }, readReviews),
  shared: 'BrandReview',
});

/** A non-empty list of the given values, in the order given here. */
export const someOf = <T extends string>(allowed: readonly T[], description: string): Field<readonly T[]> =>
  field({ type: 'array', minItems: 1, items: { enum: allowed }, description }, (value, path, reading) => {
    const values = readList(value, path, reading);
    const known = allowed.filter((candidate) => values.includes(candidate));
    if (known.length === 0 || known.length !== new Set(values).size)
      reading.refuse(path, `must contain at least one of ${allowed.join(', ')} and nothing else`);
    return known;
  });

/** A list that may be absent, which counts as empty. */
export const orEmpty = <Item>(list: Field<readonly Item[]>): Field<readonly Item[]> => orAbsent(list, []);

/**
 * Distinct values of an extensible enumeration, sorted.
 * @param most values
 */
export const upperCaseNames = (most: number, description: string): Field<readonly string[]> =>
  field(
    { type: 'array', minItems: 1, maxItems: most, items: { type: 'string' }, description },
    (value, path, reading) => {
      const values = readList(value, path, reading);
      const names = [...new Set(values)];
      if (
        names.length > 0 &&
        names.length <= most &&
        names.every((name) => typeof name === 'string' && isUpperCaseName(name))
      )
        return (names as string[]).sort();
      reading.refuse(path, `must be 1 to ${most} upper-case names (A-Z 0-9 _ . : -)`);
      return [];
    },
  );
