import { describe, expect, it } from '@jest/globals';
import { type SourceResult, decide, type AttributedResult } from '../../src/asset-check/verdict.js';

const RESULTS: Record<string, SourceResult> = {
  'exact BLOCKED': { status: 'BLOCKED' },
  'exact ALLOWED': { status: 'ALLOWED' },
  'inherited BLOCKED': { status: 'BLOCKED', reason: 'parent-domain' },
  'inherited ALLOWED': { status: 'ALLOWED', reason: 'parent-domain' },
  none: { status: 'UNKNOWN', reason: 'not-found' },
};
const NAMES = Object.keys(RESULTS);

const attributed = (source: string, name: string, mode: AttributedResult['mode'] = 'ENABLED'): AttributedResult => ({
  source,
  isOwn: source === 'own',
  mode,
  result: RESULTS[name]!,
});

/** The rule of the specification: the first item of this list that matches a result determines the verdict. */
const RULE: readonly (readonly [own: boolean, results: readonly string[]])[] = [
  [true, ['exact BLOCKED', 'exact ALLOWED']],
  [false, ['exact BLOCKED']],
  [true, ['inherited BLOCKED', 'inherited ALLOWED']],
  [false, ['exact ALLOWED']],
  [false, ['inherited BLOCKED']],
  [false, ['inherited ALLOWED']],
];

describe('The source that determines the verdict', () => {
  const combinations = NAMES.flatMap((own) => NAMES.flatMap((a) => NAMES.map((b) => ({ own, a, b }))));

  it.each(combinations)(
    'is chosen by precedence for own status $own and other sources with $a and $b',
    ({ own, a, b }) => {
      for (const order of [
        ['own', 'a', 'b'],
        ['b', 'own', 'a'],
      ]) {
        const nameBySource: Record<string, string> = { own, a, b };
        const verdict = decide(order.map((source) => attributed(source, nameBySource[source]!)));
        let expected: { status: string; source: string; reason?: string } = {
          status: 'UNKNOWN',
          source: 'own',
          reason: 'not-found',
        };
        for (const [isOwn, names] of [...RULE].reverse())
          for (const source of [...order].reverse())
            if ((source === 'own') === isOwn && names.includes(nameBySource[source]!)) {
              const [kind, status] = nameBySource[source]!.split(' ') as [string, string];
              const reason = kind === 'inherited' ? 'parent-domain' : isOwn ? undefined : 'external-source';
              expected = { status, source, reason };
            }
        expect(verdict).toEqual(expected);
      }
    },
  );

  const unknown = (...reasons: (SourceResult['reason'] | 'DISABLED')[]): AttributedResult[] =>
    reasons.map((reason, index) => ({
      source: index === 0 ? 'own' : `s${index}`,
      isOwn: index === 0,
      mode: reason === 'DISABLED' ? 'DISABLED' : 'ENABLED',
      result: reason === 'DISABLED' ? { status: 'UNKNOWN' } : { status: 'UNKNOWN', reason },
    }));

  it.each([
    { reasons: ['not-found', 'not-found'], reason: 'not-found' },
    { reasons: ['not-found', 'unsupported-type'], reason: 'not-found' },
    { reasons: ['unsupported-type', 'unsupported-type'], reason: 'unsupported-type' },
    { reasons: ['DISABLED', 'unsupported-type'], reason: 'unsupported-type' },
    { reasons: ['DISABLED', 'DISABLED'], reason: 'not-found' },
    { reasons: ['not-found', 'hosting-domain'], reason: 'hosting-domain' },
    { reasons: ['hosting-domain', 'unsupported-type'], reason: 'hosting-domain' },
    { reasons: ['not-found', 'source-error'], reason: 'not-found' },
    { reasons: ['source-error', 'source-error'], reason: 'not-found' },
    { reasons: ['not-found', 'timeout'], reason: 'not-found' },
    { reasons: ['source-error', 'hosting-domain', 'timeout'], reason: 'hosting-domain' },
  ] as const)(
    'is own, with the status UNKNOWN and the reason $reason, if the sources return $reasons',
    ({ reasons, reason }) => {
      expect(decide(unknown(...reasons))).toEqual({ status: 'UNKNOWN', source: 'own', reason });
    },
  );

  const inherited = (source: string, status: 'ALLOWED' | 'BLOCKED', matchedLength?: number): AttributedResult => ({
    source,
    isOwn: source === 'own',
    mode: 'ENABLED',
    result: { status, reason: 'parent-domain', matchedLength },
  });

  it.each([
    { own: 12, other: 14, source: 'b' },
    { own: 12, other: 12, source: 'own' },
    { own: 14, other: 12, source: 'own' },
    { own: 12, other: undefined, source: 'own' },
  ])(
    'is this service’s own source for an inherited ALLOWED, unless another source has a nearer inherited BLOCKED: $own, $other',
    (one) => {
      const attributedResults = [
        inherited('own', 'ALLOWED', one.own),
        inherited('a', 'BLOCKED', 3),
        inherited('b', 'BLOCKED', one.other),
        inherited('c', 'ALLOWED', 20),
      ];
      // If another source has a nearer BLOCKED, the first configured source with BLOCKED determines the verdict.
      expect(decide(attributedResults).source).toBe(one.source === 'b' ? 'a' : 'own');
      expect(decide([attributedResults[0]!, attributedResults[2]!, attributedResults[3]!]).source).toBe(one.source);
    },
  );

  it('is this service’s own source if it has an inherited BLOCKED, even if another source has a nearer match', () => {
    for (const status of ['ALLOWED', 'BLOCKED'] as const)
      expect(decide([inherited('own', 'BLOCKED', 5), inherited('a', status, 50)])).toMatchObject({ source: 'own' });
  });

  it('is this service’s own source if it has an inherited ALLOWED and only a disabled source has a nearer BLOCKED', () => {
    const disabled: AttributedResult = { ...inherited('a', 'BLOCKED', 50), mode: 'DISABLED' };
    expect(decide([inherited('own', 'ALLOWED', 5), disabled])).toMatchObject({ status: 'ALLOWED', source: 'own' });
  });

  it('is never a disabled source', () => {
    expect(decide([attributed('own', 'none'), attributed('a', 'exact BLOCKED', 'DISABLED')])).toMatchObject({
      status: 'UNKNOWN',
      source: 'own',
    });
  });
});
