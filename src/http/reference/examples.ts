import type { JsonSchema } from '../../events/declaring/fields.js';

type Schemas = Readonly<Record<string, JsonSchema>>;

const REFERENCE = '#/components/schemas/';

/**
 * Returns the example that a schema declares: its own example, or an example composed of the examples of its parts. An
 * optional property is included if it has an example of its own.
 * @param schemas the schemas that references name
 */
export const exampleOf = (schema: JsonSchema, schemas: Schemas): unknown => {
  const {
    examples,
    const: constant,
    enum: values,
    $ref: reference,
    properties,
    required = [],
    items,
    anyOf,
    oneOf,
  } = schema;
  if (Array.isArray(examples)) return examples[0];
  if (constant !== undefined) return constant;
  if (Array.isArray(values)) return values[0];
  if (typeof reference === 'string') return exampleOf(schemas[reference.slice(REFERENCE.length)]!, schemas);
  const [alternative] = ((anyOf ?? oneOf) as JsonSchema[] | undefined) ?? [];
  if (alternative !== undefined) return exampleOf(alternative, schemas);
  if (items !== undefined) return [exampleOf(items as JsonSchema, schemas)];
  if (properties === undefined) return undefined;
  const shown = Object.entries(properties as Schemas).filter(
    ([name, property]) => (required as readonly string[]).includes(name) || 'examples' in property,
  );
  return Object.fromEntries(shown.map(([name, property]) => [name, exampleOf(property, schemas)]));
};
