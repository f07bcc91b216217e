import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { type UpstreamDeclaration, dataSchema, DIALECT } from '../../../src/events/declaring/declaration.js';
import { parseEvent, UPSTREAM, type UpstreamEvent } from '../../../src/events/event.js';
import type { JsonSchema } from '../../../src/events/declaring/fields.js';
import { LATEST } from '../../../src/events/instant.js';
import { eachAwkward, nearly } from '../../support/schema-values.js';

const AT = '2026-03-01T12:00:00Z';
const declarations: readonly [type: UpstreamEvent['type'], declaration: UpstreamDeclaration][] = UPSTREAM.map(
  (declaration) => [declaration.type, declaration],
);

const validatorOf = (declaration: UpstreamDeclaration) => {
  const validator = new Ajv2020({ strict: true, allowUnionTypes: true });
  addFormats.default(validator, ['date-time']);
  return validator.compile({ $schema: DIALECT, ...dataSchema(declaration) });
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
    // The example has every field.
    expect(Object.keys(declaration.example)).toEqual(Object.keys(declaration.fields));
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

  it('are too far in the future', () => {
    expect(verdicts(AT, Date.parse(AT) - 1)).toEqual({ schema: true, parser: false });
  });
});
