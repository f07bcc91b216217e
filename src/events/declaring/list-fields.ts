import { type Field, field, isSlug, isUpperCaseName, type JsonSchema, orAbsent, SLUG_SCHEMA } from './fields.js';
import { MAX_LIST, type Validation } from './validation.js';

export interface BrandReview {
  readonly organization: string;
  readonly brand: string;
}

const readList = (value: unknown, path: string, validation: Validation): readonly unknown[] => {
  if (Array.isArray(value) && value.length <= validation.maxList) return value;
  validation.reject(path, `must be an array of at most ${validation.maxList} items`);
  return [];
};

/** A list of slugs; duplicates are removed. */
export const slugs = (description: string): Field<readonly string[]> =>
  field({ type: 'array', maxItems: MAX_LIST, items: SLUG_SCHEMA, description }, (value, path, validation) => {
    const values = readList(value, path, validation);
    if (values.every(isSlug)) return [...new Set(values)];
    validation.reject(path, 'must contain only slugs: 1 to 64 of a-z 0-9 -, not beginning with -');
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

const readReviews: Field<readonly BrandReview[]>['read'] = (value, path, validation) => {
  const reviews = new Map<string, BrandReview>();
  for (const item of readList(value, path, validation)) {
    const { organization, brand } = (item ?? {}) as Record<string, unknown>;
    if (!isSlug(organization) || !isSlug(brand)) {
      validation.reject(path, 'must contain only objects { organization, brand } whose values are slugs');
      return [];
    }
    reviews.set(`${organization}:${brand}`, { organization, brand });
  }
  return [...reviews.values()];
};

/** A list of pairs of organization and brand; duplicates are removed. */
export const brandReviews = (description: string): Field<readonly BrandReview[]> => ({
  ...field({ type: 'array', maxItems: MAX_LIST, items: REVIEW_SCHEMA, description }, readReviews),
  shared: 'BrandReview',
});

/** A non-empty list of allowed values; the parsed list is in the order of `allowed`. */
export const someOf = <T extends string>(allowed: readonly T[], description: string): Field<readonly T[]> =>
  field({ type: 'array', minItems: 1, items: { enum: allowed }, description }, (value, path, validation) => {
    const values = readList(value, path, validation);
    const known = allowed.filter((candidate) => values.includes(candidate));
    if (known.length === 0 || known.length !== new Set(values).size)
      validation.reject(path, `must contain at least one of ${allowed.join(', ')} and nothing else`);
    return known;
  });

/** A list that may be absent; an absent list is parsed as empty. */
export const orEmpty = <Item>(list: Field<readonly Item[]>): Field<readonly Item[]> => orAbsent(list, []);

/**
 * A list of values of an extensible enumeration; the parsed list is sorted and without duplicates.
 * @param most maximum number of values
 */
export const upperCaseNames = (most: number, description: string): Field<readonly string[]> =>
  field(
    { type: 'array', minItems: 1, maxItems: most, items: { type: 'string' }, description },
    (value, path, validation) => {
      const values = readList(value, path, validation);
      const names = [...new Set(values)];
      if (
        names.length > 0 &&
        names.length <= most &&
        names.every((name) => typeof name === 'string' && isUpperCaseName(name))
      )
        return (names as string[]).sort();
      validation.reject(path, `must be 1 to ${most} upper-case names (A-Z 0-9 _ . : -)`);
      return [];
    },
  );
