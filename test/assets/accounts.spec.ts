import { base58xrp } from '@scure/base';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createHash } from 'node:crypto';
import { readAccount } from '../../src/assets/accounts/payment.js';
import { readAddress } from '../../src/assets/accounts/address.js';
import { assetKey } from '../../src/assets/asset-key.js';
import { parseContent } from '../../src/assets/parse-content.js';

const XRP = 'rGWrZyQqhTp9Xu7G5Pkayo7bXjH4k4QYpf';
const STELLAR = 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ';
/** Test vectors of SEP-23. */
const MUXED_BASE = 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ';
const MUXED_VECTOR = 'MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAJLK';

/** Spellings of accounts with the keys that they are looked up by. */
const SPELLINGS: readonly (readonly [string, readonly string[]])[] = [
  [XRP, [XRP]],
  ['XVLhHMPHU98es4dbozjVtdWzVrDjtV5fdx1mHp98tDMoQXb', [XRP]],
  [`xrpl:0:${XRP}`, [XRP]],
  [`ripple:${XRP}?amount=1`, [XRP]],
  [`${XRP}?dt=33722`, [`${XRP}?dt=33722`, XRP]],
  [`${XRP}?dt=033722`, [`${XRP}?dt=33722`, XRP]],
  [`${XRP}?amount=1.5&tag=33722`, [`${XRP}?dt=33722`, XRP]],
  [`${XRP}:33722`, [`${XRP}?dt=33722`, XRP]],
  [`ripple:${XRP}?DT=33722`, [`${XRP}?dt=33722`, XRP]],
  [`xrpl:0:${XRP}-495`, [`${XRP}?dt=495`, XRP]],
  [`did:pkh:xrpl:0:${XRP}-0`, [`${XRP}?dt=0`, XRP]],
  // A tag that is out of range is ignored like any other parameter.
  [`${XRP}?dt=4294967296`, [XRP]],
  [`${XRP}?dt=me`, [XRP]],
  ['XVLhHMPHU98es4dbozjVtdWzVrDjtV18pX8yuPT7y4xaEHi', [`${XRP}?dt=4294967295`, XRP]],
  ['xrpl:0:XVLhHMPHU98es4dbozjVtdWzVrDjtV18pX8yuPT7y4xaEHi', [`${XRP}?dt=4294967295`, XRP]],
  // The tag of the X-address takes precedence.
  ['XVLhHMPHU98es4dbozjVtdWzVrDjtV18pX8yuPT7y4xaEHi?dt=7', [`${XRP}?dt=4294967295`, XRP]],
  ['XVLhHMPHU98es4dbozjVtdWzVrDjtV5fdx1mHp98tDMoQXb?dt=7', [`${XRP}?dt=7`, XRP]],
  [STELLAR, [STELLAR]],
  [`stellar:pubnet:${STELLAR}`, [STELLAR]],
  [`${STELLAR}?memo=1234`, [`${STELLAR}?memo=1234`, STELLAR]],
  [`web+stellar:pay?destination=${STELLAR}&amount=1`, [STELLAR]],
  [`web+stellar:pay?destination=${STELLAR}&memo=a%20b.&memo_type=MEMO_TEXT`, [`${STELLAR}?memo=a%20b%2E`, STELLAR]],
  ['bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4?amount=0.1', ['bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4']],
];

describe('An account', () => {
  it.each(SPELLINGS)('written as %s is looked up by the keys with and without its tag', (text, keys) => {
    expect(parseContent(text).parsed?.keys).toEqual(keys.map((key) => `ADDRESS:${key}`));
    expect(assetKey({ type: 'ADDRESS', content: text })).toBe(`ADDRESS:${keys[0]!}`);
    expect(assetKey({ type: 'ADDRESS', content: keys[0]! })).toBe(`ADDRESS:${keys[0]!}`);
    expect(parseContent(text).parsed?.account).toBe(keys.at(-1));
  });

  it('with a memo is parsed from a muxed Stellar address', () => {
    const { key, keyWithoutTag } = readAddress(MUXED_VECTOR)!;
    expect({ key, keyWithoutTag }).toEqual({
      key: `${MUXED_BASE}?memo=9223372036854775808`,
      keyWithoutTag: MUXED_BASE,
    });
    expect(readAccount(`stellar:pubnet:${MUXED_VECTOR}`)).toMatchObject({ key });
    expect(readAccount(`${MUXED_BASE}?memo=9223372036854775808`)).toMatchObject({ key });
  });

  it.each([
    `xrpl:0:${XRP}-4294967296`,
    `xrpl:0:${XRP}-`,
    `XVLhHMPHU98es4dbozjVtdWzVrDjtV18pX8yuPT7y4xaEHi-7`,
    `xrpl:0:${XRP}-x`,
  ])('is not parsed from the invalid text %s', (text) => {
    expect(readAccount(text)).toBeUndefined();
  });
});

const sum = (bytes: Uint8Array): Uint8Array =>
  createHash('sha256').update(createHash('sha256').update(bytes).digest()).digest().subarray(0, 4);
const ripple = (...bytes: readonly number[]): string =>
  base58xrp.encode(Uint8Array.of(...bytes, ...sum(Uint8Array.from(bytes))));

const accountIds = fc.uint8Array({ minLength: 20, maxLength: 20 });
const tags = fc.option(fc.nat({ max: 0xff_ff_ff_ff }), { nil: undefined });
/** The bytes of an X-address after the account: a flag, and a tag in eight bytes. */
const tagBytes = (tag: number | undefined): number[] => {
  const bytes = Buffer.alloc(9);
  if (tag !== undefined) {
    bytes[0] = 1;
    bytes.writeUInt32LE(tag, 1);
  }
  return [...bytes];
};

describe('An X-address', () => {
  it('has the same key as the classic address with the same tag, on each network', () => {
    fc.assert(
      fc.property(accountIds, tags, fc.constantFrom([0x05, 0x44], [0x04, 0x93]), (id, tag, network) => {
        const classic = ripple(0, ...id);
        const x = ripple(...network, ...id, ...tagBytes(tag));
        expect(x).toMatch(network[0] === 0x05 ? /^X/ : /^T/);
        const expected = readAccount(tag === undefined ? classic : `${classic}?dt=${tag}`);
        expect(expected).toBeDefined();
        expect(readAccount(x)).toEqual(expected);
        expect(readAccount(`xrpl:0:${x}`)).toEqual(expected);
        if (tag !== undefined) expect(readAccount(`xrpl:0:${classic}-${tag}`)).toEqual(expected);
      }),
    );
  });

  it.each([
    ['a network that does not exist', [0x05, 0x45], tagBytes(1)],
    ['a tag that its flag denies', [0x05, 0x44], [0, 1, 0, 0, 0, 0, 0, 0, 0]],
    ['a tag of more than 32 bits', [0x05, 0x44], [1, 1, 0, 0, 0, 1, 0, 0, 0]],
    ['an unknown flag', [0x05, 0x44], [2, 1, 0, 0, 0, 0, 0, 0, 0]],
  ])('with %s is invalid', (_, network, rest) => {
    expect(readAddress(ripple(...network, ...new Uint8Array(20).fill(7), ...rest))).toBeUndefined();
  });
});

const BYRON = [
  'Ae2tdPwUPEZLs4HtbuNey7tK4hTKrwNwYtGqp7bDfCy2WdR3P6735W5Yfpe',
  'DdzFFzCqrhsrcTVhLygT24QwTnNqQqQ8mZrq5jykUzMveU26sxaH529kMpo7VhPrt5pwW3dXeB2k3EEvKcNBRmzCfcQ7dTkyGzTs658C',
  '2cWKMJemoBam7gg1y5K2aFDhAm5L8fVc96NfxgcGhdLMFTsToNAU9t5HVdBBQKy4iDswL',
  '37btjrVyb4KEB2STADSsj3MYSAdj52X5FrFWpw2r7Wmj2GDzXjFRsHWuZqrw7zSkwopv8Ci3VWeg6bisU9dgJxW5hb2MZYeduNKbQJrqz3zVBsu9nT',
];
const CHECKED = [
  ...BYRON,
  XRP,
  'XVLhHMPHU98es4dbozjVtdWzVrDjtV5fdx1mHp98tDMoQXb',
  'XVLhHMPHU98es4dbozjVtdWzVrDjtV18pX8yuPT7y4xaEHi',
  STELLAR,
];

describe('A checksum', () => {
  it.each(BYRON)('of the Byron address %s is verified, and the key is the address', (text) => {
    expect(parseContent(text).parsed).toMatchObject({ type: 'ADDRESS', keys: [`ADDRESS:${text}`] });
    expect(parseContent(`cardano:${text}?amount=1`).parsed).toMatchObject({ keys: [`ADDRESS:${text}`] });
  });

  it.each(CHECKED)('detects every change of a single character in %s', (text) => {
    const alphabet = text.startsWith('G') ? 'AQ7Z' : '19AHJNPZakmz';
    const corrupted = [...text].flatMap((letter, at) =>
      [...alphabet].filter((other) => other !== letter).map((other) => text.slice(0, at) + other + text.slice(at + 1)),
    );
    expect(corrupted.filter((each) => parseContent(each).code !== 'parse-error')).toEqual([]);
  });
});
