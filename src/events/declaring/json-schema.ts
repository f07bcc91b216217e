import type { UpstreamDeclaration } from './declaration.js';
import { ASSET_SCHEMA, type Field, type JsonSchema } from './fields.js';
import { REVIEW_SCHEMA } from './list-fields.js';

export const DIALECT = 'https://json-schema.org/draft/2020-12/schema';

/** A schema's path and `$id`, which an event's `dataschema` may name. */
export const schemaPath = (name: string): string => `/schemas/${name}.json`;

/** Schemas that documents give a name of their own, so that generated clients have one type for each. */
export const SHARED_SCHEMAS: Readonly<Record<NonNullable<Field['shared']>, JsonSchema>> = {
  Asset: { title: 'Asset', ...ASSET_SCHEMA },
  BrandReview: { title: 'BrandReview', ...REVIEW_SCHEMA },
};

const referring = ({ schema, shared }: Field, refTo: (name: string) => JsonSchema): JsonSchema => {
  if (shared === undefined) return schema;
  return 'items' in schema
    ? { ...schema, items: refTo(shared) }
    : { ...refTo(shared), description: schema['description'] };
};

/**
 * The JSON Schema of an event's data. It cannot express that an instant is not too far in the future, that its
 * offset does not cross the turn of 1970, and that strings in ignored fields contain no U+0000 or lone surrogates.
 * @param refTo how the document refers to its schemas by name; absent: the schema needs no other one
 */
export const dataSchema = (
  { type, description, fields, example }: UpstreamDeclaration,
  refTo?: (name: string) => JsonSchema,
): JsonSchema => ({
  title: type,
  description,
  type: 'object',
  required: Object.keys(fields).filter((name) => !fields[name]!.isOptional),
  properties: Object.fromEntries(
    Object.entries(fields).map(([name, each]) => [name, refTo === undefined ? each.schema : referring(each, refTo)]),
  ),
  examples: [example],
});
