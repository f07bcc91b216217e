import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { type UpstreamDeclaration, dataSchema, DIALECT } from '../../../src/events/declaring/declaration.js';
import { parseEvent, UPSTREAM, type UpstreamEvent } from '../../../src/events/event.js';
import type { JsonSchema } from '../../../src/events/declaring/fields.js';
import { LATEST, parseInstant } from '../../../src/events/instant.js';
import { eachAwkward, nearly } from '../../support/schema-values.js';

const AT = '2026-03-01T12:00:00Z';
const declarations: readonly [type: UpstreamEvent['type'], declaration: UpstreamDeclaration][] = UPSTREAM.map(
  (declaration) => [declaration.type, declaration],
);

/** What the schema cannot express: an entry of the status history expires after its creation. */
const endsLater = ({ createdAt, expiresAt }: { createdAt?: string; expiresAt?: string | null }): boolean =>
  typeof expiresAt !== 'string' || parseInstant(expiresAt)! > parseInstant(createdAt!)!;

const validatorOf = (declaration: UpstreamDeclaration) => {
  const validator = new Ajv2020({ strict: true, allowUnionTypes: true });
  addFormats.default(validator, ['date-time']);
  const isValid = validator.compile({ $schema: DIALECT, ...dataSchema(declaration) });
  return (data: unknown): boolean =>
    isValid(data) && (declaration.type !== 'AssetStatusChanged' || endsLater(data as object));
};

const isAccepted = (type: UpstreamEvent['type'], data: unknown): boolean =>
  parseEvent(type, data, LATEST).event !== undefined;

describe.each(declarations)('%s: parser and JSON Schema', (type, declaration) => {
  const schema = dataSchema(declaration);
  const isValid = validatorOf(declaration);

  it('agree on the example, and on the example with each field removed or replaced by edge-case values', () => {
    expect([type, isAccepted(type, declaration.example), isValid(declaration.example)]).toEqual([type, true, true]);
    let rejectedCount = 0;
    for (const data of eachAwkward(declaration.example, schema)) {
      if (isAccepted(type, data) !== isValid(data))
        expect({ data, parser: isAccepted(type, data) }).toBe('as the schema says');
      if (!isValid(data)) rejectedCount += 1;
    }
    expect(rejectedCount).toBeGreaterThan(100);
  });

  it('agree on random values', () => {
    fc.assert(
      fc.property(nearly(schema), (data) => {
        expect({ data, valid: isValid(data) }).toEqual({ data, valid: isAccepted(type, data) });
      }),
      { numRuns: 50 },
    );
  });

  it('both require data to be an object', () => {
    for (const data of [null, [], [declaration.example], '', 'a', 0, true])
      expect([data, isValid(data), isAccepted(type, data)]).toEqual([data, false, false]);
  });

  it('describe every field', () => {
    expect(declaration.description).toMatch(/^[A-Z].*\.$/);
    for (const [name, field] of Object.entries(schema['properties'] as Record<string, JsonSchema>))
      expect([name, field['description']]).toEqual([name, expect.stringMatching(/^[A-Z].*\.$/)]);
    // The example has every field that is required, in order.
    const { example, fields } = declaration;
    expect(Object.keys(example)).toEqual(
      Object.keys(fields).filter((name) => !fields[name]!.isOptional || name in example),
    );
  });
});

describe('Instants that only the parser rejects', () => {
  const verdicts = (deletedAt: string, latest = LATEST) => {
    const data = { organization: 'acme', reportId: 'r-1', deletedAt };
    const [, deleted] = UPSTREAM;
    return {
      schema: validatorOf(deleted)(data),
      parser: parseEvent('ReportDeleted', data, latest).event !== undefined,
    };
  };

  it('have an offset that moves them before 1970 or after 9999', () => {
    expect(verdicts('1970-01-01T00:30:00+01:00')).toEqual({ schema: true, parser: false });
    expect(verdicts('1969-12-31T23:30:00-01:00')).toEqual({ schema: false, parser: true });
    expect(verdicts('9999-12-31T23:30:00-01:00')).toEqual({ schema: true, parser: false });
  });

  it('are the expiry of an entry of the status history, and not later than its creation', () => {
    const { example } = UPSTREAM.find(({ type }) => type === 'AssetStatusChanged')!;
    const parse = (expiresAt: string) => parseEvent('AssetStatusChanged', { ...example, createdAt: AT, expiresAt });
    for (const expiresAt of [AT, '2026-03-01T11:59:59.999Z', '2026-03-01T13:00:00+01:00'])
      expect(parse(expiresAt).issues).toEqual(['data.expiresAt must be later than data.createdAt']);
    // It may be any later time, also one at which nothing may have happened yet.
    for (const expiresAt of ['2026-03-01T12:00:00.001Z', '9999-12-31T23:59:59.999Z'])
      expect(parse(expiresAt).event?.data).toMatchObject({ expiresAt: Date.parse(expiresAt) });
  });

  it('are too far in the future', () => {
    expect(verdicts(AT, Date.parse(AT) - 1)).toEqual({ schema: true, parser: false });
  });
});
