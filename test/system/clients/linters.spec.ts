import { describe, expect, it } from '@jest/globals';
import { Parser } from '@asyncapi/parser';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Validator } from '@seriousme/openapi-schema-validator';
import { asyncApi } from '../../../src/ingestion/reference/events.reference.js';
import { readReference } from '../../support/contract.js';
import { spectralComplaints } from '../../support/spectral.js';

const reference = readReference();

const findingsOf = async (document: object): Promise<unknown[]> => {
  const source = JSON.stringify(document);
  const config = await createConfig({ extends: ['recommended'] });
  const found = await lintFromString({ source, absoluteRef: 'openapi.json', config });
  const { valid, errors } = await new Validator().validate(JSON.parse(source) as Record<string, unknown>);
  return [
    ...found.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]),
    ...(valid ? [] : [errors]),
    ...(await spectralComplaints('oas', document)),
  ];
};

describe('The API reference', () => {
  it('is OpenAPI 3.1 without findings of three linters, each of which finds a planted fault', async () => {
    expect(reference.openapi).toMatch(/^3\.1\./);
    expect(await findingsOf(reference)).toEqual([]);
    // A document of its own, because the linters take seconds for the whole reference.
    const faulty = {
      openapi: reference.openapi,
      info: { title: 'Faulty', version: '1' },
      paths: { '/faulty': { get: { responses: { odd: {} }, tags: 1 } } },
    };
    const found = await findingsOf(faulty);
    expect(found).toContainEqual(expect.arrayContaining(['struct']));
    expect(found).toContainEqual([
      expect.objectContaining({ keyword: 'type', instancePath: expect.stringMatching(/tags$/) }),
    ]);
    expect(found).toContainEqual(expect.arrayContaining(['oas3-schema']));
  });
});

describe('The reference of the events', () => {
  it('is AsyncAPI 3.0 without findings of its parser and of Spectral, which find a planted fault', async () => {
    const document = asyncApi() as { readonly asyncapi: string };
    expect(document.asyncapi).toBe('3.0.0');
    // The AsyncAPI generators do not read version 3.1.
    const codes = (await new Parser().validate(JSON.stringify(document))).map(({ code }) => code);
    expect(codes).toEqual(['asyncapi-latest-version']);
    expect(await spectralComplaints('asyncapi', document)).toEqual([]);
    const faulty = { ...document, channels: {}, components: {}, operations: { sendEvents: { action: 'get' } } };
    expect(await new Parser().validate(JSON.stringify(faulty))).toContainEqual(
      expect.objectContaining({ severity: 0 }),
    );
    expect(await spectralComplaints('asyncapi', faulty)).not.toEqual([]);
  });
});
