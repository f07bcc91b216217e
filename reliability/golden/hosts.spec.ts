import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { parseLocation } from '../../src/assets/location.js';

const hostOf = (name: string): string | undefined => parseLocation(`https://${name}/`)?.host;

const hex = (number: number): string => number.toString(16);
const plane = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, n) => from + n).filter((code) => code < 0xd800 || code > 0xdfff);

describe('A host', () => {
  it('with any character of scripts with case is normalized equally on every version of Node', () => {
    const hosts = [...plane(0x80, 0x3100), ...plane(0xa640, 0xac00)].map(
      (code) => `${hex(code)} ${hostOf(`a${String.fromCodePoint(code)}b.example`) ?? ''}`,
    );
    expect(createHash('sha256').update(hosts.join('\n')).digest('hex')).toBe(
      '3fb7b3ce882527728ca50379bdb06a3bfe10f502c5eac34869f4f646445688de',
    );
  });
});
