import { type JsonSchema, SLUG_SCHEMA } from './declaring/fields.js';

/**
 * The kinds of records that lists, feed and webhooks show; `record.ts` has all kinds, and what orders their states. The
 * numbers are permanent, because tables contain them.
 */
export const LISTED_KIND = {
  report: 1,
  threat: 2,
  takedown: 3,
  verdict: 4,
  dispute: 5,
} as const;
export type ListedKind = keyof typeof LISTED_KIND;
export const KIND_NAMES = Object.keys(LISTED_KIND) as ListedKind[];

const NAMES: ReadonlyMap<number, ListedKind> = new Map(KIND_NAMES.map((name) => [LISTED_KIND[name], name]));
export const kindOf = (kind: number): ListedKind => NAMES.get(kind)!;

/** Returns the distinct numbers of these kinds in ascending order. Default: all kinds. */
export const numbersOf = (names: Iterable<string> = KIND_NAMES): number[] =>
  [...new Set(names)].map((name) => LISTED_KIND[name as ListedKind]).sort((a, b) => a - b);

/**
 * Must be incremented if the form of an item, its place in the feed, or another row of the projection `records` changes;
 * all rows of the projection are then written again.
 */
export const ITEM_VERSION = 3;

const id: JsonSchema = { type: 'string', description: 'The id that upstream assigned.', examples: ['record-1'] };
const instant = (description: string): JsonSchema => ({
  type: 'string',
  format: 'date-time',
  description,
  examples: ['2026-03-01T12:00:00.000Z'],
});
const createdAt = instant('When the record was created.');
const updatedAt = instant('When the record entered this state.');
const asset: JsonSchema = {
  type: 'object',
  description: 'The asset that the record is about, as upstream sent it.',
  required: ['type', 'content'],
  properties: {
    type: { type: 'string', description: 'The asset type.', examples: ['URL'] },
    content: { type: 'string', description: 'A host, a link, an address or a name.', examples: ['phishing.example'] },
  },
};
const status: JsonSchema = {
  type: 'string',
  description: 'The status of the record, in upper case.',
  examples: ['BLOCKED'],
};
const brands = (description: string): JsonSchema => ({
  type: 'array',
  items: SLUG_SCHEMA,
  description,
  examples: [['acme-wallet']],
});
const brand: JsonSchema = {
  ...SLUG_SCHEMA,
  description: 'The brand that the takedown was filed for. Absent if the takedown names no brand.',
  examples: ['acme-wallet'],
};

/** The result of an asset check, as stored with a dispute. */
export const VERDICT_SCHEMA: JsonSchema = {
  type: 'object',
  description: 'The result of the asset check when the dispute was filed.',
  required: ['status', 'source', 'sources', 'message'],
  properties: {
    status: { type: 'string', description: 'The status of the asset.', examples: ['BLOCKED'] },
    source: { type: 'string', description: 'The source that determined the status.', examples: ['metamask'] },
    reason: {
      type: 'string',
      description: 'Why the asset has this status, as in the asset check.',
      examples: ['external-source'],
    },
    sources: {
      type: 'array',
      items: {
        type: 'object',
        description: 'The result of one source.',
        required: ['source', 'status', 'mode'],
        properties: {
          source: { type: 'string', description: 'The name of the source.', examples: ['metamask'] },
          status: { type: 'string', description: 'The status according to the source.', examples: ['BLOCKED'] },
          mode: { type: 'string', description: 'Whether the source decides.', examples: ['ENABLED'] },
          reason: { type: 'string', description: 'Why the source has this status.', examples: ['not-found'] },
          match: { type: 'string', description: 'The entry of the source.', examples: ['shop.example'] },
          guardedBy: { type: 'string', description: 'The guard that overrules the entry.', examples: ['popular'] },
        },
      },
      description: 'The result of each source, as in the asset check.',
      examples: [[{ source: 'metamask', status: 'BLOCKED', mode: 'ENABLED', match: 'shop.example' }]],
    },
    message: {
      type: 'string',
      description: 'The message of the asset check.',
      examples: ['"shop.example" is blocked: the source metamask has it on its blocklist.'],
    },
  },
};

/** The criteria by which lists can be filtered. */
export type Filter = 'brand' | 'status' | 'asset';

interface ItemDeclaration {
  readonly description: string;
  readonly filters: readonly Filter[];
  /** The fields in the order of items and of CSV columns. */
  readonly fields: Readonly<Record<string, JsonSchema>>;
  readonly optional?: readonly string[];
  /** Fields that lists and single records have in addition. They are computed for each response. */
  readonly computed?: Readonly<Record<string, JsonSchema>>;
}

/**
 * The items of each kind, as returned by lists, CSV exports, the feed and deliveries, and as described in the API
 * reference. The projection `records` writes them.
 */
const ITEMS = {
  report: {
    description: 'A report.',
    filters: ['brand'],
    fields: { id, brands: brands('The brands that the report names.'), createdAt, updatedAt },
  },
  threat: {
    description: 'A threat.',
    filters: ['status', 'asset'],
    fields: { id, asset, status, createdAt, updatedAt },
  },
  takedown: {
    description: 'A takedown.',
    filters: ['brand', 'status', 'asset'],
    fields: { id, asset, status, brand, createdAt, updatedAt },
    optional: ['brand'],
  },
  verdict: {
    description: 'An entry of the asset status history that concerns a brand of the organization.',
    filters: ['brand', 'status', 'asset'],
    fields: {
      id,
      asset,
      status: { ...status, enum: ['UNKNOWN', 'ALLOWED', 'BLOCKED'] },
      brands: brands("The organization's own brands that the entry concerns, sorted."),
      createdAt,
      // Without an example, because the usual record has no such field.
      expiresAt: {
        type: 'string',
        format: 'date-time',
        description:
          'From when on the entry does not determine the status of the asset any more. The record itself does not expire. ' +
          'Absent: never.',
      },
    },
    optional: ['expiresAt'],
  },
  dispute: {
    description: 'A dispute: the organization says that the verdict about an asset is wrong.',
    filters: ['status', 'asset'],
    fields: {
      id: { type: 'string', description: 'The id of the dispute.', examples: ['dp_4a7d1ed414474e4033ac29cc'] },
      asset,
      content: { type: 'string', description: 'The content as sent.', examples: ['https://shop.example/'] },
      status: {
        type: 'string',
        enum: ['OPEN', 'ACCEPTED', 'REJECTED'],
        description: 'Whether upstream has decided the dispute, and how.',
        examples: ['OPEN'],
      },
      verdict: VERDICT_SCHEMA,
      reason: {
        type: 'string',
        description: 'Why the verdict is wrong, in the words of the organization. Absent if no reason was given.',
        examples: ['This is our own shop.'],
      },
      note: {
        type: 'string',
        description: 'The explanation of the decision. Absent if upstream has given none.',
        examples: ['The site was cleaned on 1 March.'],
      },
      createdAt,
      updatedAt,
    },
    optional: ['reason', 'note'],
    computed: {
      verdictNow: {
        ...VERDICT_SCHEMA,
        description:
          'The present result of the asset check, if it no longer says BLOCKED. Only in lists and single disputes, not ' +
          'in the CSV, the feed and deliveries.',
      },
    },
  },
} as const satisfies Readonly<Record<ListedKind, ItemDeclaration>>;

/** An item of a kind with every declared field in order. Optional fields may be undefined. */
export type ItemOf<Kind extends ListedKind> = { readonly [Name in keyof (typeof ITEMS)[Kind]['fields']]: unknown };

export const isFilteredBy = (kind: ListedKind, filter: Filter): boolean =>
  (ITEMS[kind].filters as readonly Filter[]).includes(filter);

export const fieldsOf = (kind: ListedKind): Readonly<Record<string, JsonSchema>> => ITEMS[kind].fields;

/** @param shared maps the name of a field to a reference to the schema of that field in the document */
export const itemSchema = (kind: ListedKind, shared: Readonly<Record<string, JsonSchema>> = {}): JsonSchema => {
  const { description, fields, optional = [], computed = {} }: ItemDeclaration = ITEMS[kind];
  const required = Object.keys(fields).filter((name) => !optional.includes(name));
  const all = Object.entries({ ...fields, ...computed });
  const properties = Object.fromEntries(all.map(([name, schema]) => [name, shared[name] ?? schema]));
  return { type: 'object', description, required, properties };
};

const exampleOf = ({ examples, properties }: JsonSchema): unknown =>
  (examples as readonly unknown[] | undefined)?.[0] ??
  (properties === undefined ? undefined : examplesOf(properties as ReturnType<typeof fieldsOf>));
const examplesOf = (fields: ReturnType<typeof fieldsOf>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields)
      .map(([name, schema]) => [name, exampleOf(schema)] as const)
      .filter(([, example]) => example !== undefined),
  );

/** A field that the usual item does not have has no example. */
export const exampleItem = (kind: ListedKind): Record<string, unknown> => examplesOf(fieldsOf(kind));
