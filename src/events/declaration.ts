import type { Field } from './fields.js';
import type { Reading } from './reading.js';

export type Fields = Readonly<Record<string, Field>>;

/** What the parser makes of an event's data. */
type DataOf<F extends Fields> = { readonly [Name in keyof F]: F[Name] extends Field<infer Value> ? Value : never };

/** What the data of one event type must be, said once: the parser reads by it, the JSON Schema is made of it. */
export interface Declaration<Type extends string = string, Data = unknown> {
  readonly type: Type;
  readonly fields: Fields;
  /** The names of those that are instants: numbers once read, text where they are sent and stored. */
  readonly instants: readonly string[];
  readonly read: (data: Readonly<Record<string, unknown>>, reading: Reading) => Data;
}

/** One that upstream sends, so it is documented: its JSON Schema, the reference and its example are public. */
export interface UpstreamDeclaration<Type extends string = string, Data = unknown> extends Declaration<Type, Data> {
  /** What happened. Markdown. */
  readonly description: string;
  /** Data as a sender would write it; a test sends it. */
  readonly example: Readonly<Record<string, unknown>>;
}

/** The event that a declaration declares; of several declarations, any of their events. */
export type Declared<D extends Declaration> =
  D extends Declaration<infer Type, infer Data> ? { readonly type: Type; readonly data: Data } : never;

/** An event that this service decides itself. */
export const ownEvent = <Type extends string, F extends Fields>(
  type: Type,
  fields: F,
): Declaration<Type, DataOf<F>> => {
  const entries = Object.entries(fields).map(([name, { read }]) => ({ name, read }));
  return {
    type,
    fields,
    instants: Object.keys(fields).filter((name) => fields[name]!.schema['format'] === 'date-time'),
    read: (data, reading) => {
      const values: Record<string, unknown> = {};
      for (const { name, read } of entries) values[name] = read(data[name], name, reading);
      return values as DataOf<F>;
    },
  };
};

/** An event that upstream reports. */
export const upstreamEvent = <Type extends string, F extends Fields>(
  type: Type,
  { fields, ...documented }: Pick<UpstreamDeclaration, 'description' | 'example'> & { readonly fields: F },
): UpstreamDeclaration<Type, DataOf<F>> => ({ ...ownEvent(type, fields), ...documented });
