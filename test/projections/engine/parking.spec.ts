import { describe, expect, it } from '@jest/globals';
import { eventIdOf, legacyEventIdOf } from '../../../src/events/streams.js';
import type { RecordedEvent } from '../../../src/event-log/event-log.js';
import { decodeEvent } from '../../../projections/engine/parking.js';
import { sentThreat, SOURCE, recordedInOrder } from '../../support/upstream.js';

const AT = '2026-01-01T00:00:00.000Z';
const [DUE] = recordedInOrder([sentThreat('t-1', {}, 'one')]);
const { type, stream } = DUE!;

const reading = (changes: Partial<RecordedEvent>): string => {
  const result = decodeEvent({ ...DUE!, ...changes });
  return result.kind === 'unreadable' ? result.reason : result.kind;
};
const named = (source: string, id: string, rule: 'new' | 'old' = 'new'): Partial<RecordedEvent> => ({
  id: rule === 'new' ? eventIdOf(source, id, type, stream) : legacyEventIdOf(source, id),
  metadata: { source, id, time: AT },
});

describe('An upstream event in the log', () => {
  it('is valid if its id is derived from its source, id, type and stream', () => {
    expect(reading({})).toBe('read');
    expect(reading(named('urn:pipeline', 'appended directly'))).toBe('read');
  });

  it('is valid with a traceparent in its metadata', () => {
    for (const traceparent of ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', 'nonsense', 7])
      expect(reading({ metadata: { source: SOURCE, id: 'one', time: AT, traceparent } })).toBe('read');
  });

  it('is valid with an id of version 2.0, derived from source and id', () => {
    expect(reading(named(SOURCE, 'one', 'old'))).toBe('read');
    expect(reading(named('a\nb', 'x'.repeat(2_000), 'old'))).toBe('read');
  });

  it('is invalid if its id belongs to another stream, type or source', () => {
    const unreadable = `the event id must be ${DUE!.id}, the UUIDv5 of its source, id, type and stream`;
    for (const id of [
      eventIdOf(SOURCE, 'one', type, 'threat-acme:t-2'),
      eventIdOf(SOURCE, 'one', 'ThreatDeleted', stream),
      eventIdOf(`${SOURCE}-2`, 'one', type, stream),
      legacyEventIdOf(SOURCE, 'two'),
    ])
      expect(reading({ id })).toBe(unreadable);
  });

  it('is invalid if its source or id could be ambiguous', () => {
    expect(reading(named('a\nb', 'c'))).toBe('metadata.source must not contain control characters');
    expect(reading(named('a', 'b\nc'))).toBe('metadata.id must not contain control characters');
    expect(reading(named('a', 'x'.repeat(1_025)))).toBe('metadata.id must be 1 to 1024 characters');
  });
});
