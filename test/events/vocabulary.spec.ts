import { describe, expect, it } from '@jest/globals';
import { type UpstreamDeclaration, upstreamEvent } from '../../src/events/declaring/declaration.js';
import { type EventOf, OWN_TYPES, parseEvent, toJson, UPSTREAM, UPSTREAM_TYPES } from '../../src/events/event.js';
import { id } from '../../src/events/declaring/fields.js';
import { logOpened } from '../../src/events/types/operations.js';

/** Never called. `tsc` fails if one of the expected type errors does not occur. */
export const rejectedByTheCompiler = (report: EventOf<'ReportFiled'>['data']): unknown => {
  const fields = { reportId: id('Names the report.') };
  return [
    // @ts-expect-error an upstream event without a description
    upstreamEvent('ReportFiled', { fields, example: {} }),
    // @ts-expect-error an upstream event without an example
    upstreamEvent('ReportFiled', { fields, description: 'A report was filed.' }),
    // @ts-expect-error a field without a description
    id(),
    // @ts-expect-error an event of this service in the list of upstream events
    [logOpened] satisfies readonly UpstreamDeclaration[],
    // @ts-expect-error a field that is not declared
    report.filedAt,
    // @ts-expect-error a parsed instant is a number
    report.createdAt.length,
  ];
};

describe('The event types', () => {
  it('include the 15 types that upstream reports, and each type only once', () => {
    expect(UPSTREAM_TYPES).toHaveLength(15);
    const types: readonly string[] = [...UPSTREAM_TYPES, ...OWN_TYPES];
    expect(new Set(types).size).toBe(types.length);
  });

  it('have examples that are stored as they were sent', () => {
    for (const { type, example } of UPSTREAM) {
      const { event } = parseEvent(type, example);
      expect([type, event && toJson(event)]).toEqual([type, example]);
    }
  });

  it('are rejected if all of their fields are missing', () => {
    for (const type of [...UPSTREAM_TYPES, ...OWN_TYPES])
      expect([type, parseEvent(type, {}).issues?.length]).toEqual([type, expect.any(Number)]);
  });
});
