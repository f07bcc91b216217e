import type { UpstreamDeclaration } from './declaration.js';
import { ASSET_SCHEMA, type Field, type JsonSchema } from './fields.js';
import { REVIEW_SCHEMA } from './list-fields.js';

export const DIALECT = 'https://json-schema.org/draft/2020-12/schema';

/**
 * Returns the URL path of a schema, which is also its `$id`. The attribute `dataschema` of an event may refer to it.
 */
export const schemaPath = (name: string): string => `/schemas/${name}.json`;

/** Schemas with a name, so that generated clients have one type for each schema. */
export const SHARED_SCHEMAS: Readonly<Record<NonNullable<Field['shared']>, JsonSchema>> = {
  Asset: { title: 'Asset', ...ASSET_SCHEMA },
  BrandReview: { title: 'BrandReview', ...REVIEW_SCHEMA },
};

const withReferences = ({ schema, shared }: Field, refTo: (name: string) => JsonSchema): JsonSchema => {
  if (shared === undefined) return schema;
  return 'items' in schema
    ? { ...schema, items: refTo(shared) }
    : { ...refTo(shared), description: schema['description'] };
};

/**
 * Returns the JSON Schema of the data of an event. The schema cannot express three rules: an instant is not too far in
 * the future, its offset does not move it before 1970, and strings in ignored fields have no U+0000 or lone surrogates.
 * @param refTo returns the reference to a named schema; if absent, named schemas are inlined
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
    Object.entries(fields).map(([name, each]) => [
      name,
      refTo === undefined ? each.schema : withReferences(each, refTo),
    ]),
  ),
  examples: [example],
});
