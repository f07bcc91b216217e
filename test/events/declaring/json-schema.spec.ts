import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import type { UpstreamDeclaration } from '../../../src/events/declaring/declaration.js';
import { parseEvent, UPSTREAM, type UpstreamEvent } from '../../../src/events/event.js';
import type { JsonSchema } from '../../../src/events/declaring/fields.js';
import { LATEST } from '../../../src/events/instant.js';
import { dataSchema, DIALECT } from '../../../src/events/declaring/json-schema.js';
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

const takes = (type: UpstreamEvent['type'], data: unknown): boolean =>
  parseEvent(type, data, LATEST).event !== undefined;

describe.each(declarations)('%s: parser and JSON Schema', (type, declaration) => {
  const schema = dataSchema(declaration);
  const isValid = validatorOf(declaration);

  it('agree on the example, without and with each awkward value in each of its places', () => {
    expect([type, takes(type, declaration.example), isValid(declaration.example)]).toEqual([type, true, true]);
    let refused = 0;
    for (const data of eachAwkward(declaration.example, schema)) {
      if (takes(type, data) !== isValid(data)) expect({ data, parser: takes(type, data) }).toBe('as the schema says');
      if (!isValid(data)) refused += 1;
    }
    expect(refused).toBeGreaterThan(100);
  });

  it('agree on random values', () => {
    fc.assert(
      fc.property(nearly(schema), (data) => {
        expect({ data, valid: isValid(data) }).toEqual({ data, valid: takes(type, data) });
      }),
      { numRuns: 50 },
    );
  });

  it('agree that data is an object', () => {
    for (const data of [null, [], [declaration.example], '', 'a', 0, true])
      expect([data, isValid(data), takes(type, data)]).toEqual([data, false, false]);
  });

  it('are described to the last field', () => {
    expect(declaration.description).toMatch(/^[A-Z].*\.$/);
    for (const [name, field] of Object.entries(schema['properties'] as Record<string, JsonSchema>))
      expect([name, field['description']]).toEqual([name, expect.stringMatching(/^[A-Z].*\.$/)]);
    // The example shows every field there is.
    expect(Object.keys(declaration.example)).toEqual(Object.keys(declaration.fields));
  });
});

describe('What JSON Schema cannot say of an instant', () => {
  const verdicts = (deletedAt: string, latest = LATEST) => {
    const data = { organization: 'acme', reportId: 'r-1', deletedAt };
    const [, deleted] = UPSTREAM;
    return {
      schema: validatorOf(deleted)(data),
      parser: parseEvent('ReportDeleted', data, latest).event !== undefined,
    };
  };

  it('is that an offset carries it over the first or the last day', () => {
    expect(verdicts('1970-01-01T00:30:00+01:00')).toEqual({ schema: true, parser: false });
    expect(verdicts('1969-12-31T23:30:00-01:00')).toEqual({ schema: false, parser: true });
    expect(verdicts('9999-12-31T23:30:00-01:00')).toEqual({ schema: true, parser: false });
  });

  it('and that it is too far in the future', () => {
    expect(verdicts(AT, Date.parse(AT) - 1)).toEqual({ schema: true, parser: false });
  });
});
