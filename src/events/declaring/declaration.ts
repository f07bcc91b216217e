import { type Field, REQUIRED, type Validation, ASSET_SCHEMA, type JsonSchema, REVIEW_SCHEMA } from './fields.js';

type Fields = Readonly<Record<string, Field>>;

/** The type that the parser returns for an event's data. */
type DataOf<F extends Fields> = { readonly [Name in keyof F]: F[Name] extends Field<infer Value> ? Value : never };

/** The declaration of the data of an event type. Parser and JSON Schema are derived from it. */
export interface Declaration<Type extends string = string, Data = unknown> {
  readonly type: Type;
  readonly fields: Fields;
  /** Names of the fields that are instants: parsed to numbers, sent and stored as text. */
  readonly instants: readonly string[];
  readonly read: (data: Readonly<Record<string, unknown>>, validation: Validation) => Data;
}

/** The declaration of an event that upstream reports. */
export interface UpstreamDeclaration<Type extends string = string, Data = unknown> extends Declaration<Type, Data> {
  /** Describes what happened, in Markdown. */
  readonly description: string;
  /** Example data. A test sends it to the endpoint. */
  readonly example: Readonly<Record<string, unknown>>;
}

/** The event type of a declaration; for a union of declarations, a union of events. */
export type Declared<D extends Declaration> =
  D extends Declaration<infer Type, infer Data> ? { readonly type: Type; readonly data: Data } : never;

/** Reports errors about several fields that are valid by themselves. */
type Rule<Data> = (data: Data, validation: Validation) => void;

/**
 * Declares an event that this service creates itself.
 * @param rule called if every field is valid
 */
export const ownEvent = <Type extends string, F extends Fields>(
  type: Type,
  fields: F,
  rule?: Rule<DataOf<F>>,
): Declaration<Type, DataOf<F>> => {
  const entries = Object.entries(fields);
  return {
    type,
    fields,
    instants: Object.keys(fields).filter((name) => fields[name]!.schema['format'] === 'date-time'),
    read: (data, validation) => {
      const values: Record<string, unknown> = {};
      for (const [name, { read, isOptional }] of entries)
        if (data[name] === undefined && !isOptional) validation.reject(name, REQUIRED);
        else values[name] = read(data[name], name, validation);
      if (validation.issues.length === 0) rule?.(values as DataOf<F>, validation);
      return values as DataOf<F>;
    },
  };
};

/** Declares an event that upstream reports. */
export const upstreamEvent = <Type extends string, F extends Fields>(
  type: Type,
  {
    fields,
    rule,
    ...documented
  }: Pick<UpstreamDeclaration, 'description' | 'example'> & { readonly fields: F; readonly rule?: Rule<DataOf<F>> },
): UpstreamDeclaration<Type, DataOf<F>> => ({ ...ownEvent(type, fields, rule), ...documented });

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
 * Returns the JSON Schema of the data of an event. The schema cannot express four rules: an instant is not too far in
 * the future, its offset does not move it before 1970, strings in ignored fields have no U+0000 or lone surrogates, and
 * the rule of a declaration.
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
