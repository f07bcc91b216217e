import { EARLIEST, LATEST, formatInstant, INSTANT_PATTERN, parseInstant } from '../instant.js';
import type { Asset } from '../../assets/asset.js';
import { ASSET_TYPES } from '../asset-types.js';
import { limit } from '../../limits.js';

/** Whether a string has more than this many code points. */
export const isLongerThan = (text: string, characters: number): boolean =>
  // Counting code points is expensive. The number of UTF-16 units, at most two per code point, often decides first.
  text.length > 2 * characters || (text.length > characters && [...text].length > characters);

/**
 * Whether the string contains U+0000 or a lone surrogate, which PostgreSQL, or a program that reads the log, cannot
 * store.
 */
export const isUnstorable = (text: string): boolean => text.includes('\0') || !text.isWellFormed();

/** JSON Schema pattern for storable strings. In a pattern, a surrogate range matches only lone surrogates. */
const STORABLE_PATTERN = String.raw`^[^\u0000\uD800-\uDFFF]*$`;

/** Maximum length of a list that the endpoint accepts. Each brand of a report is counted separately. */
export const MAX_LIST = limit('brands or reviews of an event', 50, 'elements', 'event', 'the event is rejected');
/**
 * Maximum length of a list in stored events, because earlier versions accepted longer lists. The projector limits its
 * transactions by the number of facts.
 */
const MAX_STORED_LIST = 1_000;

/** Collects the validation errors in the data of one event, and has the limits that apply. */
export class Validation {
  readonly issues: string[] = [];

  readonly earliest: number;
  readonly latest: number;
  readonly maxList: number;

  /**
   * @param latest the latest accepted instant in ms. If given, instants before 1970 and lists of more than `MAX_LIST`
   *   items are rejected too. Absent for stored events, so that a rebuild depends neither on the clock nor on newer
   *   limits
   */
  constructor(latest?: number) {
    this.earliest = latest === undefined ? EARLIEST : 0;
    this.latest = latest ?? LATEST;
    this.maxList = latest === undefined ? MAX_STORED_LIST : MAX_LIST;
  }

  reject(path: string, rule: string): void {
    this.issues.push(`data.${path} ${rule}`);
  }
}

/** A JSON Schema with only the keywords that JSON Schema 2020-12, OpenAPI 3.1 and AsyncAPI 3 have in common. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A field in the data of an event, for the parser and the documentation. */
export interface Field<Value = unknown> {
  /** Parses the field and reports errors to `validation`. The return value for an invalid field must not be used. */
  readonly read: (value: unknown, path: string, validation: Validation) => Value;
  readonly schema: JsonSchema;
  readonly isOptional: boolean;
  /** The name of the schema, or of the schema of list items, in `SHARED_SCHEMAS`. */
  readonly shared?: 'Asset' | 'BrandReview';
}

export const SLUG = /^[a-z0-9][a-z0-9-]{0,63}$/;
export const ID = /^[A-Za-z0-9._:-]{1,128}$/;
const UPPER_CASE_NAME = /^[A-Z0-9][A-Z0-9_.:-]{0,63}$/;
export const isUpperCaseName = (text: string): boolean => UPPER_CASE_NAME.test(text);
const UPPER_CASE_RULE = 'must be 1 to 64 upper-case characters (A-Z 0-9 _ . : -)';

/** Maximum length of the content of an asset in code points. */
export const MAX_CONTENT = 4_096;

/** Error for an absent field. */
export const REQUIRED = 'is required';

/** Error for an invalid instant. */
export const INSTANT_RULE = 'must be an RFC 3339 date-time with an offset, in the years 1970 to 9999';

/** Returns the error for a future instant. @param latest the latest accepted instant in ms */
export const tooFarAhead = (sent: number, latest: number): string =>
  `is too far in the future: ${formatInstant(sent)}; for this key the latest is now ${formatInstant(latest)}`;

export const field = <Value>(schema: JsonSchema, read: Field<Value>['read']): Field<Value> => ({
  read,
  schema,
  isOptional: false,
});

const matching = (pattern: RegExp, rule: string, schema: JsonSchema): Field<string> =>
  field({ type: 'string', pattern: pattern.source, ...schema }, (value, path, validation) => {
    if (typeof value === 'string' && pattern.test(value)) return value;
    validation.reject(path, rule);
    return '';
  });

const readText = (value: unknown, path: string, longest: number, validation: Validation): string => {
  if (typeof value !== 'string' || value === '') {
    validation.reject(path, 'must be a non-empty string');
    return '';
  }
  if (isLongerThan(value, longest)) validation.reject(path, `must be at most ${longest} characters`);
  else if (isUnstorable(value)) validation.reject(path, 'must not contain U+0000 or lone surrogates');
  return value;
};

const textSchema = (longest: number): JsonSchema => ({
  type: 'string',
  minLength: 1,
  maxLength: longest,
  pattern: STORABLE_PATTERN,
});

export const SLUG_SCHEMA: JsonSchema = { type: 'string', pattern: SLUG.source };
export const isSlug = (value: unknown): value is string => typeof value === 'string' && SLUG.test(value);

export const slug = (description: string): Field<string> =>
  matching(SLUG, 'must be a slug: 1 to 64 of a-z 0-9 -, not beginning with -', { description });

export const id = (description: string): Field<string> =>
  matching(ID, 'must be 1 to 128 of A-Z a-z 0-9 . _ : -', { description });

/**
 * A value of an extensible enumeration, such as a status: upper case, 1 to 64 characters.
 * @param known the values that this version knows; other values are accepted too
 */
export const upperCaseName = (known: readonly string[], description: string): Field<string> =>
  matching(UPPER_CASE_NAME, UPPER_CASE_RULE, { examples: known, description });

export const oneOf = <T extends string>(allowed: readonly T[], description: string): Field<T> =>
  field({ type: 'string', enum: allowed, description }, (value, path, validation) => {
    const known = allowed.find((candidate) => candidate === value);
    if (known === undefined) validation.reject(path, `must be one of ${allowed.join(', ')}`);
    return known ?? allowed[0]!;
  });

/** @param longest maximum length in code points */
export const text = (longest: number, description: string): Field<string> =>
  field({ ...textSchema(longest), description }, (value, path, validation) =>
    readText(value, path, longest, validation),
  );

export const boolean = (description: string): Field<boolean> =>
  field({ type: 'boolean', description }, (value, path, validation) => {
    if (typeof value !== 'boolean') validation.reject(path, 'must be true or false');
    return value === true;
  });

export const wholeNumber = (least: number, description: string): Field<number> =>
  field(
    { type: 'integer', minimum: least, maximum: Number.MAX_SAFE_INTEGER, description },
    (value, path, validation) => {
      if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return value;
      validation.reject(path, `must be a whole number of at least ${least}`);
      return least;
    },
  );

const readInstant: Field<number>['read'] = (value, path, validation) => {
  const read = typeof value === 'string' ? parseInstant(value) : undefined;
  if (read !== undefined && read >= validation.earliest) return read;
  validation.reject(path, INSTANT_RULE);
  return 0;
};

const INSTANT_HINT =
  'RFC 3339 with an offset, not before 1970 and at most 24 hours in the future (at most 5 minutes if an organization’s own ' +
  'key sends the event). Fractions of a millisecond are truncated.';

const instantField = (description: string, read: Field<number>['read']): Field<number> =>
  field({ type: 'string', format: 'date-time', pattern: INSTANT_PATTERN, description }, read);

export const instant = (description: string): Field<number> =>
  instantField(`${description} ${INSTANT_HINT}`, (value, path, validation) => {
    const read = readInstant(value, path, validation);
    if (read > validation.latest) validation.reject(path, tooFarAhead(read, validation.latest));
    return read;
  });

/** An instant that may be any time in the future. */
export const instantAhead = (description: string): Field<number> =>
  instantField(`${description} RFC 3339 with an offset. Fractions of a millisecond are truncated.`, readInstant);

export const ASSET_SCHEMA: JsonSchema = {
  type: 'object',
  required: ['type', 'content'],
  properties: {
    type: {
      type: 'string',
      pattern: UPPER_CASE_NAME.source,
      examples: [...ASSET_TYPES],
      description:
        'The asset type. A type that is not listed here is accepted only from a key without an organization.',
    },
    content: {
      ...textSchema(MAX_CONTENT),
      examples: ['phishing.example'],
      description: 'The asset as it was found: an address, a link or a name.',
    },
  },
};

const readAsset: Field<Asset>['read'] = (value, path, validation) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    validation.reject(path, 'must be an object { type, content }');
    return { type: '', content: '' };
  }
  const { type, content } = value as Record<string, unknown>;
  if (type === undefined) validation.reject(`${path}.type`, REQUIRED);
  else if (typeof type !== 'string' || !UPPER_CASE_NAME.test(type)) validation.reject(`${path}.type`, UPPER_CASE_RULE);
  if (content === undefined) validation.reject(`${path}.content`, REQUIRED);
  else readText(content, `${path}.content`, MAX_CONTENT, validation);
  // Does not use `String()`, which throws if the object has a `toString` that is not a function.
  return { type: typeof type === 'string' ? type : '', content: typeof content === 'string' ? content : '' };
};

export const asset = (description: string): Field<Asset> => ({
  ...field({ ...ASSET_SCHEMA, description }, readAsset),
  shared: 'Asset',
});

/** A field that may be absent or null. @param absent the parsed value of an absent field */
const orAbsent = <Value, Absent>({ read, schema }: Field<Value>, absent: Absent): Field<Value | Absent> => ({
  read: (value, path, validation) => (value === undefined || value === null ? absent : read(value, path, validation)),
  schema: { ...schema, type: [schema['type'], 'null'] },
  isOptional: true,
});

/** A field that may be absent. */
export const optional = <Value>(one: Field<Value>): Field<Value | undefined> => orAbsent(one, undefined);

interface BrandReview {
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
