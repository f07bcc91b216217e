import { describe, expect, it } from '@jest/globals';
import { preferredType, acceptsGzip } from '../../../../src/http/responses/accept.js';

const [JSON_TYPE, CSV] = ['application/json', 'text/csv'];
const preferred = (accept: string | undefined): string => preferredType(accept, [JSON_TYPE!, CSV!]);

describe('The preferred media type', () => {
  it.each([undefined, '', '*/*', 'application/json, text/csv', 'text/csv, application/json', 'text/csv, */*'])(
    'is the first type if the client accepts both types equally (%s)',
    (accept) => expect(preferred(accept)).toBe(JSON_TYPE),
  );

  it.each([
    'text/csv',
    'TEXT/CSV; header=present',
    'text/*',
    'application/json;q=0.5, text/csv',
    'application/json; q=0.5, text/csv;q=0.6',
    'application/*;q=0.1, text/csv;header=present;q=0.2',
    '*/*;q=0.1, text/csv',
    'application/json;q=0, */*',
  ])('is the type with the higher weight (%s)', (accept) => expect(preferred(accept)).toBe(CSV));

  it.each([
    'text/csv;q=0.1, application/json;q=0.2',
    'text/csv;q=0, */*;q=0.1',
    'text/csv;q=2, application/json;q=0.1',
  ])('is decided by the weight of the most specific range (%s)', (accept) => expect(preferred(accept)).toBe(JSON_TYPE));

  it('is the first type if the client accepts none of the types', () => {
    for (const accept of ['image/png', 'text/csv;q=0', ',;,=', 'q=1']) expect(preferred(accept)).toBe(JSON_TYPE);
  });
});

describe('acceptsGzip', () => {
  it.each(['gzip', 'br, GZIP;q=0.5', 'deflate , gzip ; q=1', 'gzip; q=1, br'])(
    'is true for Accept-Encoding: %s',
    (encodings) => expect(acceptsGzip(encodings)).toBe(true),
  );

  it.each(['', 'br', 'gzip;q=0', 'gzip; q=0.0', 'gzipped', 'xgzip', 'identity'])(
    'is false for Accept-Encoding: %j',
    (encodings) => expect(acceptsGzip(encodings)).toBe(false),
  );
});
