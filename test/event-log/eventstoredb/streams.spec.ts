import { expect, it } from '@jest/globals';
import { OurStreams } from '../../../src/event-log/eventstoredb/streams.js';

it.each([
  ['threat-acme:t', true],
  ['threat-acme:t\0', false],
  ['threat-acme:\n', false],
  ['threat-acme:\u0085', false],
  ['threats-acme:t', false],
  ['operations', true],
  ['operations\0', false],
  ['operations-of-others', false],
])('Whether an event in the stream %j belongs to the log: %s', (stream, isOwn) => {
  expect(new OurStreams('').includes(stream)).toBe(isOwn);
});
