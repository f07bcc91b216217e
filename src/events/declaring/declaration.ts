import { type Field, REQUIRED } from './fields.js';
import type { Reading } from './reading.js';

export type Fields = Readonly<Record<string, Field>>;

/** The type that the parser returns for an event's data. */
type DataOf<F extends Fields> = { readonly [Name in keyof F]: F[Name] extends Field<infer Value> ? Value : never };

/** The single declaration of an event type's data, from which both parser and JSON Schema are made. */
export interface Declaration<Type extends string = string, Data = unknown> {
  readonly type: Type;
  readonly fields: Fields;
  /** Names of the instants: numbers once parsed, text when sent and stored. */
  readonly instants: readonly string[];
  readonly read: (data: Readonly<Record<string, unknown>>, reading: Reading) => Data;
}

/** Declares an event that upstream reports. */
export interface UpstreamDeclaration<Type extends string = string, Data = unknown> extends Declaration<Type, Data> {
  /** What happened, in Markdown. */
  readonly description: string;
  /** Example data; a test sends it. */
  readonly example: Readonly<Record<string, unknown>>;
}

/** The event type of a declaration; for a union of declarations, a union of events. */
export type Declared<D extends Declaration> =
  D extends Declaration<infer Type, infer Data> ? { readonly type: Type; readonly data: Data } : never;

/** Declares an event that this service decides itself. */
export const ownEvent = <Type extends string, F extends Fields>(
  type: Type,
  fields: F,
): Declaration<Type, DataOf<F>> => {
  const entries = Object.entries(fields);
  return {
    type,
    fields,
    instants: Object.keys(fields).filter((name) => fields[name]!.schema['format'] === 'date-time'),
    read: (data, reading) => {
      const values: Record<string, unknown> = {};
      for (const [name, { read, isOptional }] of entries)
        if (data[name] === undefined && !isOptional) reading.refuse(name, REQUIRED);
        else values[name] = read(data[name], name, reading);
      return values as DataOf<F>;
    },
  };
};

/** Declares an event that upstream reports. */
export const upstreamEvent = <Type extends string, F extends Fields>(
  type: Type,
  { fields, ...documented }: Pick<UpstreamDeclaration, 'description' | 'example'> & { readonly fields: F },
): UpstreamDeclaration<Type, DataOf<F>> => ({ ...ownEvent(type, fields), ...documented });
