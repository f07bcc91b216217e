import { describe, expect, it } from '@jest/globals';
import { parseEvent, type Parsers, UPSTREAM_TYPES, type UpstreamEvent } from '../../src/events/event.js';
import { takedownDeleted } from '../../src/events/takedowns.js';
import { reportFiled } from '../../src/events/reports.js';

/** Never called: `tsc`, which `npm run lint` runs, fails on an error that is expected here and does not come. */
export const rejectedByTheCompiler = (good: Parsers<UpstreamEvent>): readonly Parsers<UpstreamEvent>[] => {
  const { TakedownDeleted: _, ...missing } = good;
  return [
    // @ts-expect-error a type without its parser
    missing,
    // @ts-expect-error a type with another type's parser
    { ...good, ReportFiled: takedownDeleted },
    // @ts-expect-error likewise, of the same record
    { ...good, ReportDeleted: reportFiled },
    // @ts-expect-error a parser of no type
    { ...good, ReportFilled: reportFiled },
  ];
};

describe('The vocabulary', () => {
  it('has a parser for each of the fourteen types that upstream reports', () => {
    expect(UPSTREAM_TYPES).toHaveLength(14);
    for (const type of UPSTREAM_TYPES) expect(parseEvent(type, {}).issues).not.toHaveLength(0);
  });
});
