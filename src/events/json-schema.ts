import type { UpstreamDeclaration } from './declaration.js';
import type { JsonSchema } from './fields.js';

export const DIALECT = 'https://json-schema.org/draft/2020-12/schema';

/** A schema's path and `$id`, which an event's `dataschema` may name. */
export const schemaPath = (name: string): string => `/schemas/${name}.json`;

/**
 * The JSON Schema of an event's data. It cannot express that an instant is at most 24 hours in the future, that its
 * offset does not cross the turn of 1970, and that strings in ignored fields contain no U+0000 or lone surrogates.
 */
export const dataSchema = ({ type, description, fields, example }: UpstreamDeclaration): JsonSchema => ({
  title: type,
  description,
  type: 'object',
  required: Object.keys(fields).filter((name) => !fields[name]!.isOptional),
  properties: Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema])),
  examples: [example],
});
