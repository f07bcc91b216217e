import { describe, expect, it } from '@jest/globals';
import { traceparentOf } from '../../src/runtime/tracing.js';

const FIELDS = '4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

describe('traceparentOf', () => {
  it.each([`00-${FIELDS}`, `01-${FIELDS}`, `cc-${FIELDS}-what-the-future-adds`, `01-${FIELDS}-`])(
    'continues the trace of %s in version 00',
    (value) => expect(traceparentOf(value)).toBe(`00-${FIELDS}`),
  );

  it.each([`00-${FIELDS}-extra`, `01-${FIELDS}extra`, `ff-${FIELDS}`, `00-${FIELDS}\n`, '00', undefined, 7])(
    'ignores the invalid value %j',
    (value) => expect(traceparentOf(value)).toBeUndefined(),
  );
});
