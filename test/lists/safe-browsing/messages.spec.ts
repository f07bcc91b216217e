import { describe, expect, it } from '@jest/globals';
import { encodeMessage, type HashList, jsonOfMessage } from '../../../src/lists/safe-browsing/messages.js';

const list: HashList = {
  name: 'a',
  version: Buffer.from('v'),
  partialUpdate: true,
  additionsFourBytes: { firstValue: 10, riceParameter: 3, entriesCount: 1, encodedData: Buffer.from([2]) },
  compressedRemovals: { firstValue: 0, riceParameter: 0, entriesCount: 0, encodedData: Buffer.alloc(0) },
  minimumWaitDuration: { seconds: 300 },
  sha256Checksum: Buffer.from([255, 1]),
  metadata: { threatTypes: ['SOCIAL_ENGINEERING'], hashLength: 'FOUR_BYTES' },
};

const field = (number: number, bytes: string): string =>
  Buffer.from([number * 8 + 2, bytes.length / 2]).toString('hex') + bytes;

describe('The messages of Safe Browsing v5', () => {
  it('have the numbers of the definition in the binary format', () => {
    const parts = [
      field(1, '61'),
      field(2, '76'),
      '1801',
      field(4, `080a10031801${field(4, '02')}`),
      // A removal of the first entry: a message that is present, whatever its bytes.
      field(5, `080010001800${field(4, '')}`),
      field(6, '08ac02'),
      field(7, 'ff01'),
      field(8, `${field(1, '02')}3002`),
    ];
    expect(Buffer.from(encodeMessage('HashList', list)).toString('hex')).toBe(parts.join(''));
    const found = {
      fullHashes: [{ fullHash: Buffer.from('h'), fullHashDetails: [{ threatType: 'SOCIAL_ENGINEERING' }] }],
      cacheDuration: { seconds: 300 },
    };
    const hash = field(1, `${field(1, '68')}${field(2, '0802')}`);
    expect(Buffer.from(encodeMessage('SearchHashesResponse', found)).toString('hex')).toBe(hash + field(2, '08ac02'));
  });

  it('have base64 and durations as texts in JSON', () => {
    expect(JSON.parse(jsonOfMessage({ hashLists: [list] }))).toEqual({
      hashLists: [
        {
          ...list,
          version: 'dg==',
          additionsFourBytes: { firstValue: 10, riceParameter: 3, entriesCount: 1, encodedData: 'Ag==' },
          compressedRemovals: { firstValue: 0, riceParameter: 0, entriesCount: 0, encodedData: '' },
          minimumWaitDuration: '300s',
          sha256Checksum: '/wE=',
        },
      ],
    });
  });
});
