import { describe, expect, it } from '@jest/globals';
import { limit, limitBySetting, LIMITS } from '../src/limits.js';

describe('A limit', () => {
  it('is the number that it declares, and is listed with its unit, scope and answer', () => {
    expect(limit('turns of a spec', 3, 'turns', 'process', '503')).toBe(3);
    limitBySetting('turns of a spec', 'TURNS', 'turns', 'organization', '429');
    expect(LIMITS).toEqual([
      { name: 'turns of a spec', value: 3, unit: 'turns', scope: 'process', beyond: '503' },
      { name: 'turns of a spec', value: 'TURNS', unit: 'turns', scope: 'organization', beyond: '429' },
    ]);
  });

  it('cannot be declared twice, as a declaration in a function would', () => {
    limit('bytes of a spec', 1, 'bytes', 'request', '413');
    expect(() => limit('bytes of a spec', 1, 'bytes', 'request', '413')).toThrow(
      'The limit of bytes per request is declared twice: bytes of a spec',
    );
  });
});
