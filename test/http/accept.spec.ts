import { describe, expect, it } from '@jest/globals';
import { preferredType, takesGzip } from '../../src/http/accept.js';

const [JSON_TYPE, CSV] = ['application/json', 'text/csv'];
const preferred = (accept: string | undefined): string => preferredType(accept, [JSON_TYPE!, CSV!]);

describe('Of the media types on offer', () => {
  it.each([undefined, '', '*/*', 'application/json, text/csv', 'text/csv, application/json', 'text/csv, */*'])(
    'the first is sent if a client accepts both equally (%s)',
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
  ])('the one is given that a client likes better (%s)', (accept) => expect(preferred(accept)).toBe(CSV));

  it.each([
    'text/csv;q=0.1, application/json;q=0.2',
    'text/csv;q=0, */*;q=0.1',
    'text/csv;q=2, application/json;q=0.1',
  ])('a weight decides, and the closest range has it (%s)', (accept) => expect(preferred(accept)).toBe(JSON_TYPE));

  it('the first is sent if a client accepts none', () => {
    for (const accept of ['image/png', 'text/csv;q=0', ',;,=', 'q=1']) expect(preferred(accept)).toBe(JSON_TYPE);
  });
});

describe('Gzip', () => {
  it.each(['gzip', 'br, GZIP;q=0.5', 'deflate , gzip ; q=1', 'gzip; q=1, br'])(
    'is taken by who sends %s',
    (encodings) => expect(takesGzip(encodings)).toBe(true),
  );

  it.each(['', 'br', 'gzip;q=0', 'gzip; q=0.0', 'gzipped', 'xgzip', 'identity'])(
    'is not by who sends %j',
    (encodings) => expect(takesGzip(encodings)).toBe(false),
  );
});
