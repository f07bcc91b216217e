import fc from 'fast-check';
import type { JsonSchema } from '../../src/events/declaring/fields.js';

type Json = Record<string, unknown>;

/** Generates values that match a schema, for the keywords that the event schemas use except `format`. */
export const valueOf = (schema: JsonSchema): fc.Arbitrary<unknown> => {
  const type = [schema['type']].flat()[0];
  const some = oneTypeValue({ ...schema, type });
  return Array.isArray(schema['type']) ? fc.option(some) : some;
};

const oneTypeValue = (schema: JsonSchema): fc.Arbitrary<unknown> => {
  const { type, enum: allowed, const: only, pattern, minLength, maxLength } = schema as Record<string, any>;
  if (only !== undefined) return fc.constant(only);
  if (allowed !== undefined) return fc.constantFrom(...(allowed as unknown[]));
  switch (type) {
    case 'string':
      return maxLength === undefined
        ? fc.stringMatching(new RegExp(pattern as string))
        : fc
            .string({ unit: 'binary', minLength: minLength as number, maxLength: 20 })
            .filter((text) => new RegExp(pattern as string, 'u').test(text));
    case 'integer':
      return fc.integer({ min: schema['minimum'] as number, max: schema['maximum'] as number });
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'array':
      return fc.array(valueOf(schema['items'] as JsonSchema), { maxLength: 3 });
    case 'object': {
      const properties = Object.entries(schema['properties'] as Record<string, JsonSchema>);
      return fc.record(Object.fromEntries(properties.map(([name, each]) => [name, valueOf(each)])), {
        requiredKeys: schema['required'] as never[],
      });
    }
    default:
      throw new Error(`No values for a schema of type ${type}`);
  }
};

const emoji = '\u{1f600}';
const AT = '2026-03-01T12:00:00';

/** Marks a field that is to be removed. */
const ABSENT = Symbol('absent');

/** Values at the limits of the fields and beyond. */
export const AWKWARD: readonly unknown[] = [
  [ABSENT, null, true, false, 0, -0, 1, -1, 1.5, 2 ** 53 - 1, 2 ** 53, 1e300, [], {}, [[]], [{}], [null], ['a', 'a']],
  // String() throws for such an object.
  [{ toString: 1 }],
  ['', ' ', 'a', '-a', 'a-', 'A', 'a_b', '_', 'a\n', '\n', 'a b', 'a.b:c', 'á', '\0', 'a\0', '\ud800', emoji],
  [64, 65, 128, 129].flatMap((length) => ['a'.repeat(length), 'A'.repeat(length)]),
  [64, 65, 255, 256, 1_024, 1_025, 4_096, 4_097].flatMap((length) => [emoji.repeat(length), 'é'.repeat(length)]),
  [50, 51].flatMap((size) => [Array(size).fill('a'), Array(size).fill({ organization: 'a', brand: 'b', more: 1 })]),
  ['UNKNOWN', 'unknown', 'NEW_ONE', { type: 'URL' }, { content: 'a' }, { type: 'X', content: 'a', more: null }],
  [`${AT}Z`, `${AT}z`, AT, `${AT}.Z`, `${AT}.1Z`, `${AT}.123456789Z`, `${AT}+23:59`, `${AT}-24:00`, `${AT}+01:60`],
  [`${AT}+0100`, `${AT}+01`, `${AT} Z`, AT.replace('T', 't') + 'Z', AT.replace('T', ' ') + 'Z', ` ${AT}Z`, `${AT}Z\n`],
  ['2026-03-01', '2026-3-1T12:00:00Z', '2026-03-01T12:00Z', '2026-03-01T24:00:00Z', '2026-03-01T12:60:00Z'],
  ['2026-03-01T23:59:60Z', '2016-12-31T23:59:60Z', '2026-00-01T00:00:00Z', '2026-13-01T00:00:00Z'],
  ['2026-01-00', '2026-01-32', '2026-04-31', '2026-02-29', '2024-02-29', '2100-02-29', '2000-02-29'].map(
    (day) => `${day}T00:00:00Z`,
  ),
  ['1969-12-31T23:59:59.999Z', '1970-01-01T00:00:00Z', '0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z'],
  ['urn:x', 'a:b', '1:b', './a:b', ':a', '?q', '#f', '#f#g', '%zz', '//[::1]:80/a', '//[::1', 'http://a b', '\\'],
  ['application/json', 'APPLICATION/JSON; charset=utf-8', 'text/json', 'json', 'a/b+json', 'a/json5', 'a/json;;'],
  [`a/json;${'b'.repeat(248)}`, `a/json;${'b'.repeat(249)}`, `a/json;${emoji.repeat(248)}`, `${'+'.repeat(250)}/json`],
  ['\u007f', '\u009f', '\u00a0', '1.0', '1', 'e30=', 'ThreatDeleted'],
  ['10000-01-01T00:00:00Z', '+2026-01-01T00:00:00Z', '٢٠٢٦-01-01T00:00:00Z'],
].flat();

/** A place in a value: the object or list that contains it, and its name or index there. */
type Slot = readonly [parent: Json, name: string];

const slotsOf = (value: unknown, schema: JsonSchema = {}): Slot[] => {
  if (Array.isArray(value))
    return value.flatMap((item, index) => [
      [value as unknown as Json, String(index)] as const,
      ...slotsOf(item, schema['items'] as JsonSchema),
    ]);
  if (typeof value !== 'object' || value === null) return [];
  const properties = (schema['properties'] ?? {}) as Record<string, JsonSchema>;
  return Object.entries(properties).flatMap(([name, each]) => [
    [value as Json, name] as const,
    ...slotsOf((value as Json)[name], each),
  ]);
};

const put = ([parent, name]: Slot, value: unknown): void => {
  if (value !== ABSENT) parent[name] = structuredClone(value);
  else if (Array.isArray(parent)) parent.splice(Number(name), 1);
  else delete parent[name];
};

/** Yields copies of a value. In each copy, one place has been replaced by one of the awkward values. */
export function* eachAwkward(value: unknown, schema: JsonSchema): Generator<unknown> {
  const { length } = slotsOf(value, schema);
  for (let place = 0; place < length; place += 1)
    for (const awkward of AWKWARD) {
      const copy = structuredClone(value);
      put(slotsOf(copy, schema)[place]!, awkward);
      yield copy;
    }
}

/** Whether a time is so close to the first or last instant that its offset decides whether it is valid. */
const isOnTheBorder = (value: unknown): boolean =>
  /"(?:1969-12-31|1970-01-01|9999-12-31)[^"]*[+-]\d\d:\d\d"/.test(JSON.stringify(value));

/**
 * Generates values of a schema, most of them changed in one or two places. Excludes times whose offset decides whether
 * they are valid, because a schema cannot express that.
 */
export const nearly = (schema: JsonSchema): fc.Arbitrary<unknown> =>
  fc
    .tuple(
      valueOf(schema),
      fc.array(fc.tuple(fc.nat(), fc.oneof(fc.constantFrom(...AWKWARD), fc.jsonValue())), { maxLength: 2 }),
    )
    .map(([value, changes]) => {
      const copy = structuredClone(value);
      for (const [place, awkward] of changes) {
        const slots = slotsOf(copy, schema);
        if (slots.length > 0) put(slots[place % slots.length]!, awkward);
      }
      return copy;
    })
    .filter((value) => !isOnTheBorder(value));
