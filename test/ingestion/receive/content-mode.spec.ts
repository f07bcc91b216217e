import { describe, expect, it, jest } from '@jest/globals';
import { PayloadTooLargeException, UnsupportedMediaTypeException } from '@nestjs/common';
import { CloudEvent as SdkEvent, HTTP } from 'cloudevents';
import fc from 'fast-check';
import { Invalid } from '../../../src/errors.js';
import type { CloudEvent } from '../../../src/ingestion/receive/cloud-event.js';
import {
  BATCH,
  BINARY,
  readEvents,
  STRUCTURED,
  EVENTS_OF_A_BATCH,
  MAX_BODY,
} from '../../../src/ingestion/receive/content-mode.js';
import { parserOf, sliceJson } from '../../../src/http/json.js';
import { finish } from '../../../src/flow/turns.js';

const LATEST = Date.parse('2026-03-02T00:00:00.000Z');
const GOOD = {
  specversion: '1.0',
  id: '1',
  source: 'https://upstream.example/threats',
  type: 'ThreatStatusChanged',
  time: '2026-03-01T12:00:00.000Z',
  data: { threatId: 't-1' },
};

const read = (
  contentType: string | undefined,
  body: string | Buffer,
  extraHeaders: Record<string, string | string[]> = {},
) => {
  const headers: Record<string, string[]> = contentType === undefined ? {} : { 'content-type': [contentType] };
  for (const [name, value] of Object.entries(extraHeaders)) headers[name] = [value].flat();
  return [...readEvents(headers, Buffer.from(body as string), LATEST)].filter((event) => event !== undefined);
};
const readOne = (event: unknown): CloudEvent => read(STRUCTURED, JSON.stringify(event))[0]!;
const issuesOf = (changes: object): readonly string[] => readOne({ ...GOOD, ...changes }).issues;
const withoutAttribute = (name: string): Record<string, unknown> => ({ ...GOOD, [name]: undefined });

const BINARY_HEADERS = {
  'ce-specversion': '1.0',
  'ce-id': '1',
  'ce-source': 'https://upstream.example/threats',
  'ce-type': 'ThreatStatusChanged',
  'ce-time': '2026-03-01T12:00:00.000Z',
};
const readBinary = (extraHeaders: Record<string, string | string[]> = {}, body = '{"threatId":"t-1"}'): CloudEvent =>
  read(BINARY, body, { ...BINARY_HEADERS, ...extraHeaders })[0]!;

const EXPECTED = {
  id: '1',
  source: 'https://upstream.example/threats',
  type: 'ThreatStatusChanged',
  time: Date.parse('2026-03-01T12:00:00.000Z'),
  data: { threatId: 't-1' },
  issues: [],
};

describe('readEvents', () => {
  it('reads one event in structured mode', () => {
    expect(readOne(GOOD)).toEqual(EXPECTED);
  });

  it('reads a list in batch mode, in order, also an empty one', () => {
    expect(read(BATCH, JSON.stringify([GOOD, { ...GOOD, id: '2' }])).map(({ id }) => id)).toEqual(['1', '2']);
    expect(read(BATCH, '[]')).toEqual([]);
  });

  it('reads one event in binary mode', () => {
    expect(readBinary()).toEqual(EXPECTED);
  });

  it.each(['application/vnd.example+json', 'Application/Problem+JSON; charset=utf-8', 'text/json'])(
    'reads one event in binary mode with data of the type %s',
    (type) => {
      expect(read(type, '{"threatId":"t-1"}', BINARY_HEADERS)).toEqual([EXPECTED]);
      expect(() => read(type, JSON.stringify(GOOD))).toThrow('without ce- headers is not an event');
    },
  );

  it('reads the events of the CloudEvents SDK in structured and binary mode', () => {
    const event = new SdkEvent({ ...GOOD, datacontenttype: 'application/json' });
    for (const message of [HTTP.structured(event), HTTP.binary(event)]) {
      const { 'content-type': contentType, ...otherHeaders } = message.headers as Record<string, string>;
      const [received] = read(contentType, message.body as string, otherHeaders);
      expect(received).toEqual(EXPECTED);
    }
  });

  it.each([
    `${STRUCTURED}; charset=utf-8`,
    `${STRUCTURED};charset=UTF-8`,
    `${STRUCTURED}; charset="utf-8"; x=y`,
    'Application/CloudEvents+JSON',
  ])('accepts the media type %s', (contentType) => {
    expect(read(contentType, JSON.stringify(GOOD))).toEqual([EXPECTED]);
  });

  it.each([
    undefined,
    '',
    'text/plain',
    'application/xml',
    'application/cloudevents',
    'application/cloudevents+avro',
    'application/cloudevents-list+json',
    'application/json5',
    `${STRUCTURED}; charset=iso-8859-1`,
    `${BATCH}; charset=utf-16`,
  ])('returns 415 for the media type %s', (contentType) => {
    expect(() => read(contentType, JSON.stringify(GOOD))).toThrow(UnsupportedMediaTypeException);
  });

  const FOR_A_LIST = `${BATCH} is for a list of events; send one event as ${STRUCTURED}`;
  it.each([
    ['broken JSON', STRUCTURED, '{"specversion":"1.0",', 'The body is not JSON: unexpected end at byte 21'],
    ['nothing', STRUCTURED, '', 'The body is not JSON: it is empty'],
    ['a list in structured mode', STRUCTURED, '[]', `${STRUCTURED} is for one event; send a list as ${BATCH}`],
    ['a number in structured mode', STRUCTURED, '1', 'The body must be one event, a JSON object'],
    ['null in structured mode', STRUCTURED, 'null', 'The body must be one event, a JSON object'],
    ['one event in batch mode', BATCH, JSON.stringify(GOOD), FOR_A_LIST],
    ['null in batch mode', BATCH, 'null', FOR_A_LIST],
    ['two values', BATCH, '[][]', 'The body is not JSON'],
    ['two byte order marks', STRUCTURED, `\ufeff\ufeff${JSON.stringify(GOOD)}`, 'The body must be one event'],
    ['only a byte order mark', STRUCTURED, '\ufeff', 'it is empty'],
    ['JSON without ce- headers', BINARY, JSON.stringify(GOOD), `${BINARY} without ce- headers is not an event`],
  ])('rejects a body that contains %s', (_, contentType, body, message) => {
    expect(() => read(contentType, body)).toThrow(Invalid);
    expect(() => read(contentType, body)).toThrow(message);
  });

  it('accepts a byte order mark before the JSON in each mode', () => {
    expect(read(STRUCTURED, `\ufeff${JSON.stringify(GOOD)}`)).toEqual([EXPECTED]);
    expect(read(BATCH, `\ufeff\r\n${JSON.stringify([GOOD])}`)).toEqual([EXPECTED]);
    expect(read(BATCH, '\ufeff[]')).toEqual([]);
    expect(readBinary({}, '\ufeff{"threatId":"t-1"}')).toEqual(EXPECTED);
  });

  it('rejects a body that is not UTF-8', () => {
    const body = Buffer.concat([Buffer.from('{"id":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]);
    expect(() => read(STRUCTURED, body)).toThrow('The body is not UTF-8');
  });

  it('reports where the JSON is invalid without repeating the body', () => {
    const broken = '{"specversion":"1.0","id":secret}';
    expect(() => read(STRUCTURED, broken)).toThrow(/^The body is not JSON/);
    expect(() => read(STRUCTURED, broken)).not.toThrow(/secret/);
  });
});

describe('The attributes of an event', () => {
  it.each(['id', 'source', 'type', 'time', 'data'])('must include %s', (name) => {
    expect(readOne(withoutAttribute(name)).issues).toEqual([`${name} is required`]);
    expect(readOne({ ...withoutAttribute(name), [name.toUpperCase()]: 'x' }).issues).toEqual([`${name} is required`]);
  });

  it.each(['ce-id', 'ce-source', 'ce-type', 'ce-time'])('must include the header %s in binary mode', (header) => {
    const headers: Record<string, string> = { ...BINARY_HEADERS };
    delete headers[header];
    expect(read(BINARY, '{}', headers)[0]!.issues).toEqual([`${header.slice(3)} is required`]);
  });

  it.each([undefined, '0.3', '1', 1, 1.0, '1.0.2', null])('must not have the specversion %j', (specversion) => {
    expect(issuesOf({ specversion })).toEqual(['specversion must be "1.0"']);
  });

  it.each(['id', 'source', 'type'])('must have a non-empty string as %s', (name) => {
    for (const value of ['', 1, {}, [], true])
      expect(issuesOf({ [name]: value })).toEqual([`${name} must be a non-empty string`]);
  });

  it('are treated as absent if they are null, as specified by the JSON format', () => {
    for (const name of ['id', 'source', 'type', 'time'])
      expect(issuesOf({ [name]: null })).toEqual([`${name} is required`]);
    for (const name of ['datacontenttype', 'dataschema', 'subject', 'data_base64', 'traceparent'])
      expect(issuesOf({ [name]: null })).toEqual([]);
  });

  it('are all validated at once, and the issues are reported with the id of the event if it has one', () => {
    expect(readOne({ id: 'x' })).toMatchObject({
      id: 'x',
      issues: [
        'specversion must be "1.0"',
        'source is required',
        'type is required',
        'time is required',
        'data is required',
      ],
    });
  });

  it.each([null, 1, 'x', true, [[]]])(
    'are not read from an item that is not an object (%j), and the other items are read',
    (item) => {
      const events = read(BATCH, JSON.stringify([item, GOOD]));
      expect(events[0]!.issues).toEqual(['the event must be a JSON object']);
      expect(events[1]).toEqual(EXPECTED);
    },
  );
});

describe('The time of an event', () => {
  it.each([
    ['2026-03-01T12:00:00Z', '2026-03-01T12:00:00.000Z'],
    ['2026-03-01T13:30:00.1239+01:30', '2026-03-01T12:00:00.123Z'],
    ['1970-01-01T00:00:00Z', '1970-01-01T00:00:00.000Z'],
    ['2026-03-02T00:00:00.000Z', '2026-03-02T00:00:00.000Z'],
  ])('may be %s', (time, instant) => {
    expect(readOne({ ...GOOD, time })).toMatchObject({ time: Date.parse(instant), issues: [] });
  });

  it.each(['yesterday', 1_772_000_000_000, '1969-12-31T23:59:59.999Z', '1970-01-01T00:59:59+01:00'])(
    'must not be %j',
    (time) => {
      expect(issuesOf({ time })).toEqual([
        'time must be an RFC 3339 date-time with an offset, in the years 1970 to 9999',
      ]);
    },
  );

  it('must not be after the latest accepted instant, to the millisecond', () => {
    expect(issuesOf({ time: '2026-03-02T00:00:00.001Z' })).toEqual([
      'time is too far in the future: 2026-03-02T00:00:00.001Z; for this key the latest is now 2026-03-02T00:00:00.000Z',
    ]);
  });
});

describe('The data of an event', () => {
  it('may be any JSON value, including null and false', () => {
    for (const data of [null, false, 0, '', [], {}])
      expect(readOne({ ...GOOD, data })).toMatchObject({ data, issues: [] });
  });

  const inBase64 = (text: string, changes: object = {}): CloudEvent =>
    readOne({ ...withoutAttribute('data'), data_base64: Buffer.from(text).toString('base64'), ...changes });

  it('may be JSON in base64', () => {
    expect(inBase64('{"threatId":"t-1"}')).toEqual(EXPECTED);
    expect(inBase64(' "€" ')).toMatchObject({ data: '€', issues: [] });
  });

  it.each([
    ['not base64', { data_base64: 'e30' }, 'data_base64 must be base64 (RFC 4648, padded) of JSON'],
    ['base64 of URLs', { data_base64: '_-8=' }, 'data_base64 must be base64 (RFC 4648, padded) of JSON'],
    ['a number', { data_base64: 1 }, 'data_base64 must be base64 (RFC 4648, padded) of JSON'],
    ['empty', { data_base64: '' }, 'data_base64 must contain JSON in UTF-8'],
    ['two base64 texts', { data_base64: 'e30=e30=' }, 'data_base64 must be base64 (RFC 4648, padded) of JSON'],
    ['half of a JSON value', { data_base64: 'e3t7' }, 'data_base64 must contain JSON in UTF-8'],
    ['not UTF-8', { data_base64: '/////w==' }, 'data_base64 must contain JSON in UTF-8'],
    ['present together with data', { data: {}, data_base64: 'e30=' }, 'data and data_base64 must not both be present'],
  ])('is rejected if data_base64 is %s', (_, changes, issue) => {
    expect(readOne({ ...withoutAttribute('data'), ...changes }).issues).toEqual([issue]);
  });

  it('has the same limits in base64', () => {
    expect(inBase64('{"x":"\\u0000"}').issues).toEqual(['data must not contain U+0000 or lone surrogates']);
    expect(inBase64('[{"x":'.repeat(40)).issues).toEqual(['data_base64 must contain JSON in UTF-8']);
    expect(inBase64('['.repeat(33) + ']'.repeat(33)).issues).toEqual([
      'data_base64: the event nests deeper than 32 levels',
    ]);
    expect(inBase64(`[${'0,'.repeat(10_000)}0]`).issues).toEqual([
      'data_base64: the event has more than 10000 brackets, commas and colons',
    ]);
  });

  it.each(['application/json', 'application/json; charset=utf-8', 'text/json', 'application/vnd.example+json'])(
    'is read as JSON if datacontenttype is %s',
    (datacontenttype) => {
      expect(issuesOf({ datacontenttype })).toEqual([]);
    },
  );

  it.each(['text/xml', 'application/octet-stream', 'application/jsonx', '', 1])(
    'is rejected if datacontenttype is %j',
    (datacontenttype) => {
      expect(issuesOf({ datacontenttype })).toEqual([
        'datacontenttype must be a JSON media type, such as application/json',
      ]);
    },
  );
});

describe('The limits of a body', () => {
  const lists = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
  const holding = (data: string): string => JSON.stringify({ ...GOOD, data: '*' }).replace('"*"', data);

  it('allow 32 levels in an event; a deeper event is rejected and the others are read', () => {
    const [deep, deeper, good] = read(BATCH, `[${holding(lists(31))},${holding(lists(32))},${JSON.stringify(GOOD)}]`);
    expect(deep!.issues).toEqual([]);
    expect(deeper).toMatchObject({ id: undefined, issues: ['the event nests deeper than 32 levels'] });
    expect(good).toEqual(EXPECTED);
  });

  it('allow 10,000 brackets, commas and colons in an event; an event with more is rejected and the others are read', () => {
    const delimitersOfGood = 2 + 6 + 5 + 2;
    const atLimit = `[${'0,'.repeat(10_000 - delimitersOfGood)}0]`;
    const [full, tooMany, good] = read(
      BATCH,
      `[${holding(atLimit)},${holding(atLimit.replace('[', '[0,'))},${JSON.stringify(GOOD)}]`,
    );
    expect(full!.issues).toEqual([]);
    expect(tooMany!.issues).toEqual(['the event has more than 10000 brackets, commas and colons']);
    expect(good).toEqual(EXPECTED);
  });

  it.each([
    ['brackets', '['],
    ['braces', '{"":'],
    ['empty lists', '[],'],
    ['keys', '{"a":0},'],
  ])('reject 8 MiB of %s without parsing them', (_, part) => {
    const parse = jest.spyOn(JSON, 'parse');
    const body = `[[${part.repeat(Math.floor((MAX_BODY - 2) / part.length))}`;
    expect(() => read(BATCH, body)).toThrow(/^The body is not JSON: unexpected end at byte/);
    expect(parse).not.toHaveBeenCalled();
    parse.mockRestore();
  });

  it('reject an event that nests too deep without parsing it', () => {
    const parse = jest.spyOn(JSON, 'parse');
    const half = MAX_BODY / 2 - 1;
    const [event] = read(BATCH, `[${lists(half)}]`);
    expect(event!.issues).toEqual(['the event nests deeper than 32 levels']);
    expect(parse).not.toHaveBeenCalled();
    parse.mockRestore();
  });

  it('stop reading at the 1,001st event, however many follow', () => {
    const body = Buffer.from(`[${'0,'.repeat(4_000_000)}`);
    const reading = readEvents({ 'content-type': [BATCH] }, body, LATEST);
    const search = jest.spyOn(body, 'indexOf');
    expect(() => [...reading]).toThrow(PayloadTooLargeException);
    expect(search).not.toHaveBeenCalled();
  });
});

describe('The slicer', () => {
  it('finds the same events as the JSON parser in any text', () => {
    const characters = fc.constantFrom('[', ']', '{', '}', ',', ':', '"', '\\', ' ', '\n', '0', 'a', '\u20ac');
    const text = fc.oneof(
      { weight: 3, arbitrary: fc.array(characters, { maxLength: 40 }).map((all) => `[${all.join('')}]`) },
      { weight: 2, arbitrary: fc.array(fc.jsonValue({ maxDepth: 4 })).map((all) => JSON.stringify(all)) },
      // Strings that are long enough for `indexOf`, full of quotes and escaped quotes.
      fc
        .array(fc.array(fc.constantFrom('"', '\\', ']', 'a'), { minLength: 60, maxLength: 90 }), { maxLength: 3 })
        .map((all) => JSON.stringify(all.map((each) => each.join('')))),
    );
    fc.assert(
      fc.property(text, (json) => {
        let expected: unknown;
        try {
          expected = JSON.parse(json);
        } catch {
          expected = 'no JSON';
        }
        const body = Buffer.from(json);
        let actual: unknown;
        try {
          const parse = parserOf(body);
          actual = finish(sliceJson(body, EVENTS_OF_A_BATCH)).map((slice) => parse(slice).json);
        } catch (error) {
          actual = error instanceof Invalid ? 'no JSON' : error;
        }
        expect(actual).toEqual(expected);
      }),
      { numRuns: 400, seed: 20261121 },
    );
  });
});

describe('The id and the source of an event', () => {
  it.each([
    'https://upstream.example/threats?a=b&c=%20#d',
    'urn:test:upstream',
    'mailto:someone@upstream.example',
    'https://[2001:db8::1]:443/x',
    '//host/path',
    '/sensors/1',
    'upstream',
    'a/b:c',
    '?x',
    '#x',
    '1',
  ])('accept the URI reference %s as source', (source) => {
    expect(issuesOf({ source })).toEqual([]);
  });

  it.each(['a b', 'caf\u00e9', '%zz', '100%', '<x>', '1a:b', 'a\\b', 'https://[x]/', 'a#b#c', '"x"', '{x}', 'a|b'])(
    'reject %j as source, because it is not a URI reference',
    (source) => {
      expect(issuesOf({ source })).toEqual([
        'source must be a URI reference (RFC 3986), such as https://upstream.example/threats',
      ]);
    },
  );

  // The allowed characters are tested in event-id.spec.ts.
  it.each(['id', 'source'])('allow at most 1,024 characters in %s', (name) => {
    expect(issuesOf({ [name]: 'x'.repeat(1_024) })).toEqual([]);
    expect(issuesOf({ [name]: 'x'.repeat(1_025) })).toEqual([`${name} must be 1 to 1024 characters`]);
  });

  it('reject control characters, also in the headers of binary mode', () => {
    expect(readBinary({ 'ce-id': 'a%0Ab' }).issues).toEqual(['id must not contain control characters']);
  });
});

describe('U+0000 and lone surrogates', () => {
  const BAD = ['\\u0000', '\\ud800', '\\udfff', '\\uDBFF\\u0041', 'a\\uD83Db'];
  const FINE = ['\\ud83d\\ude00', '\\\\u0000', '\\\\ud800', '\\u0041', '\\u00e9', '\u{1f600}'];
  const withText = (json: string): string[] => [
    JSON.stringify({ ...GOOD, data: { '*': 1 } }).replace('*', json),
    JSON.stringify({ ...GOOD, data: [[[{ deep: ['*'] }]]] }).replace('*', json),
  ];

  it.each(BAD)('are rejected anywhere in the data: %s', (json) => {
    for (const text of withText(json)) {
      const [bad, good] = read(BATCH, `[${text},${JSON.stringify(GOOD)}]`);
      expect(bad!.issues).toEqual(['data must not contain U+0000 or lone surrogates']);
      expect(good).toEqual(EXPECTED);
    }
  });

  it.each(FINE)('are not confused with %s', (json) => {
    for (const text of withText(json)) expect(read(STRUCTURED, text)[0]!.issues).toEqual([]);
  });

  it('are also rejected in binary mode', () => {
    const message = 'data must not contain U+0000 or lone surrogates';
    expect(readBinary({}, '{"x":"\\ud800"}').issues).toEqual([message]);
  });

  it('are accepted in an unused attribute', () => {
    for (const json of BAD) {
      const text = JSON.stringify({ ...GOOD, subject: '*' }).replace('*', json);
      expect(read(STRUCTURED, text)).toEqual([EXPECTED]);
    }
  });
});

describe('The headers of binary mode', () => {
  it.each([
    ['Euro%20%E2%82%AC%20%F0%9F%98%80', 'Euro \u20ac \u{1f600}'],
    ['50%25', '50%'],
    ['50%2525', '50%25'],
    ['"older sender"', 'older sender'],
    ['"a\\"b\\\\c%20"', 'a"b\\c '],
    ['a+b', 'a+b'],
  ])('are percent-decoded once: %s', (header, value) => {
    expect(readBinary({ 'ce-id': header })).toMatchObject({ id: value, issues: [] });
  });

  it.each(['100%', 'Zürich', '%C3%'])(
    'name the event by their own text if `ce-id` cannot be decoded, with one issue: %s',
    (header) => {
      // `cloudevents` 10.0.0 writes attributes into headers as they are.
      const { id, issues } = readBinary({ 'ce-id': header });
      expect([id, issues]).toEqual([header, ['ce-id must be percent-encoded UTF-8']]);
    },
  );

  it.each(['100%', '%zz', '%E2%82', '%ff', '%ed%a0%80', 'caf\u00e9'])(
    'are rejected if they are not percent-encoded UTF-8: %s',
    (header) => {
      expect(readBinary({ 'ce-id': header }).issues[0]).toBe('ce-id must be percent-encoded UTF-8');
    },
  );

  it('may have any value if they are unused, such as a subject in raw UTF-8', () => {
    const subject = Buffer.from('caf\u00e9 \u20ac').toString('latin1');
    expect(readBinary({ 'ce-subject': subject, 'ce-extension': ['1', '%zz'] })).toEqual(EXPECTED);
  });

  it('must not be repeated', () => {
    expect(readBinary({ 'ce-id': ['1', '2'] }).issues[0]).toBe('ce-id is present 2 times');
  });

  it('cannot replace the body', () => {
    expect(readBinary({ 'ce-data': '%7B%7D', 'ce-data_base64': 'e30=', 'ce-datacontenttype': 'text/xml' })).toEqual(
      EXPECTED,
    );
    expect(() => readBinary({ 'ce-data': '%7B%7D' }, '')).toThrow(Invalid);
  });
});

describe('Any request', () => {
  const contentTypes = fc.oneof(
    fc.constantFrom(STRUCTURED, BATCH, BINARY, `${BATCH}; charset=utf-8`, 'text/plain'),
    fc.string(),
  );
  const header = fc.oneof(fc.constantFrom('1.0', '%00', '%', '"', '2026-03-01T00:00:00Z'), fc.string());
  const ceHeaders = fc.dictionary(
    fc.constantFrom('ce-id', 'ce-source', 'ce-type', 'ce-time', 'ce-specversion', 'ce-__proto__', 'ce-x', 'x-other'),
    fc.oneof(header, fc.array(header, { minLength: 1, maxLength: 3 })),
  );
  const eventLike = fc.record(
    {
      specversion: fc.oneof(fc.constant('1.0'), fc.jsonValue()),
      id: fc.oneof(fc.string({ unit: 'binary' }), fc.jsonValue()),
      source: fc.oneof(fc.string(), fc.jsonValue()),
      type: fc.oneof(fc.constantFrom('ThreatStatusChanged', '__proto__', 'constructor'), fc.jsonValue()),
      time: fc.oneof(fc.constantFrom('2026-03-01T00:00:00Z', '9999-12-31T23:59:60Z'), fc.jsonValue()),
      data: fc.jsonValue(),
      datacontenttype: fc.oneof(fc.constant('application/json'), fc.jsonValue()),
    },
    { requiredKeys: [] },
  );
  const bodies = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc.json().map((text) => Buffer.from(text)),
    fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
    eventLike.map((event) => Buffer.from(JSON.stringify(event))),
    fc.array(fc.oneof(eventLike, fc.jsonValue())).map((events) => Buffer.from(JSON.stringify(events))),
  );

  it('is read, or rejected with one of the documented errors', () => {
    fc.assert(
      fc.property(contentTypes, bodies, ceHeaders, (contentType, body, headers) => {
        try {
          for (const event of read(contentType, body, headers)) {
            expect(Array.isArray(event.issues)).toBe(true);
            if (event.issues.length > 0) continue;
            expect(event.id).not.toBe('');
            expect(event.source).not.toBe('');
            expect(event.type).not.toBe('');
            expect(event.time).toBeLessThanOrEqual(LATEST);
            expect(event.data).toBeDefined();
            expect(JSON.stringify(event)).not.toMatch(/\\u0000|\\ud[89a-f]/);
          }
        } catch (error) {
          if (
            !(error instanceof Invalid) &&
            !(error instanceof UnsupportedMediaTypeException) &&
            !(error instanceof PayloadTooLargeException)
          )
            throw error;
        }
      }),
      { numRuns: 400, seed: 20261121 },
    );
  });
});
