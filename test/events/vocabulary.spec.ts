import { describe, expect, it } from '@jest/globals';
import { type UpstreamDeclaration, upstreamEvent } from '../../src/events/declaring/declaration.js';
import { type EventOf, OWN_TYPES, parseEvent, toJson, UPSTREAM, UPSTREAM_TYPES } from '../../src/events/event.js';
import { id } from '../../src/events/declaring/fields.js';
import { logOpened } from '../../src/events/types/operations.js';

/** Never called: `tsc`, which `npm run lint` runs, fails on an error that is expected here and does not come. */
export const rejectedByTheCompiler = (report: EventOf<'ReportFiled'>['data']): unknown => {
  const fields = { reportId: id('Names the report.') };
  return [
    // @ts-expect-error an upstream event without a description
    upstreamEvent('ReportFiled', { fields, example: {} }),
    // @ts-expect-error one without an example
    upstreamEvent('ReportFiled', { fields, description: 'A report was filed.' }),
    // @ts-expect-error a field without a description
    id(),
    // @ts-expect-error an event of our own among those of upstream
    [logOpened] satisfies readonly UpstreamDeclaration[],
    // @ts-expect-error a field that is not declared
    report.filedAt,
    // @ts-expect-error an instant is a number once it is read
    report.createdAt.length,
  ];
};

describe('The vocabulary', () => {
  it('has the fourteen types that upstream reports, and no type twice', () => {
    expect(UPSTREAM_TYPES).toHaveLength(14);
    const types: readonly string[] = [...UPSTREAM_TYPES, ...OWN_TYPES];
    expect(new Set(types).size).toBe(types.length);
  });

  it('stores each example as it was sent', () => {
    for (const { type, example } of UPSTREAM) {
      const { event } = parseEvent(type, example);
      expect([type, event && toJson(event)]).toEqual([type, example]);
    }
  });

  it('refuses of each what has none of its fields', () => {
    for (const type of [...UPSTREAM_TYPES, ...OWN_TYPES])
      expect([type, parseEvent(type, {}).issues?.length]).toEqual([type, expect.any(Number)]);
  });
});
