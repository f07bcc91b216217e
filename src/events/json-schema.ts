import type { UpstreamDeclaration } from './declaration.js';
import type { JsonSchema } from './fields.js';

export const DIALECT = 'https://json-schema.org/draft/2020-12/schema';

/** Where a schema is served, and its `$id`: an event's `dataschema` may name it. */
export const schemaPath = (name: string): string => `/schemas/${name}.json`;

/**
 * What the data of an event must be, as far as JSON Schema can say it. What it cannot: that an instant is at most 24
 * hours ahead of the clock, that its offset does not carry it out of the year 1970 or into it, and that no string in a
 * field nobody reads holds U+0000 or a lone surrogate.
 */
export const dataSchema = ({ type, description, fields, example }: UpstreamDeclaration): JsonSchema => ({
  title: type,
  description,
  type: 'object',
  required: Object.keys(fields).filter((name) => !fields[name]!.isOptional),
  properties: Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema])),
  examples: [example],
});
