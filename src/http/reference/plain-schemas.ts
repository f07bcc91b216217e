import type { OpenAPIObject } from '@nestjs/swagger';

type Node = Record<string, unknown>;

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null;

/**
 * Replaces an `allOf` with a single reference by the reference: OpenAPI 3.1, unlike 3.0, allows a description next to a
 * `$ref`.
 */
const withoutLoneAllOf = ({ allOf, ...rest }: Node): Node =>
  Array.isArray(allOf) && allOf.length === 1 && !('properties' in rest) ? { ...rest, ...allOf[0] } : { allOf, ...rest };

/** Declares a number as a count (an integer of at least 0), unless its property has a format or a bound. */
const asCount = (schema: Node): Node =>
  schema['type'] === 'number' && !('format' in schema || 'minimum' in schema || 'maximum' in schema)
    ? { ...schema, type: 'integer', minimum: 0 }
    : schema;

/** Replaces `example` of OpenAPI, which is deprecated, with `examples` of JSON Schema. */
const withExamples = ({ example, ...rest }: Node): Node =>
  example === undefined ? rest : { ...rest, examples: [example] };

const plain = (schema: unknown): unknown => {
  if (!isNode(schema) || '$ref' in schema) return schema;
  const written = withExamples(asCount('allOf' in schema ? withoutLoneAllOf(schema) : schema));
  for (const key of ['items', 'additionalProperties']) if (isNode(written[key])) written[key] = plain(written[key]);
  for (const key of ['oneOf', 'anyOf', 'allOf'])
    if (Array.isArray(written[key])) written[key] = (written[key] as unknown[]).map(plain);
  if (isNode(written['properties']))
    written['properties'] = Object.fromEntries(
      Object.entries(written['properties']).map(([name, property]) => [name, plain(property)]),
    );
  return written;
};

/** Converts each `schema` in a part of the document to OpenAPI 3.1. */
const plainSchemas = (part: unknown): void => {
  if (Array.isArray(part)) return part.forEach(plainSchemas);
  if (!isNode(part)) return;
  for (const [key, value] of Object.entries(part)) {
    if (key === 'example' || key === 'examples') continue;
    if (key === 'schema') part[key] = plain(value);
    else plainSchemas(value);
  }
};

/** Removes the suffix `Dto` of classes, which clients need not see. */
const withoutSuffix = (name: string): string => name.replace(/Dto$/, '');

/** @returns the document with every schema in 3.1 notation, under its public name */
export const withPlainSchemas = (document: OpenAPIObject): OpenAPIObject => {
  const schemas = Object.entries(document.components?.schemas ?? {});
  const duplicate = schemas.find(
    ([name]) => schemas.filter(([other]) => withoutSuffix(other) === withoutSuffix(name)).length > 1,
  );
  if (duplicate) throw new Error(`Two schemas would be called ${withoutSuffix(duplicate[0])}`);
  plainSchemas(document.paths);
  const components = {
    ...document.components,
    schemas: Object.fromEntries(schemas.map(([name, schema]) => [withoutSuffix(name), plain(schema)])),
  };
  const text = JSON.stringify({ ...document, components });
  return JSON.parse(text.replace(/("#\/components\/schemas\/\w+?)Dto"/g, '$1"')) as OpenAPIObject;
};
