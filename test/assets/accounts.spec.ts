import { base58, base58xrp } from '@scure/base';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createHash } from 'node:crypto';
import { readAccount } from '../../src/assets/accounts/payment.js';
import { readAddress } from '../../src/assets/accounts/address.js';
import { assetKey } from '../../src/assets/asset-key.js';
import { parseContent } from '../../src/assets/parse-content.js';

const XRP = 'rGWrZyQqhTp9Xu7G5Pkayo7bXjH4k4QYpf';
const STELLAR = 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ';
const versionedHash = (version: number, hash: string): string => {
  const body = Uint8Array.of(version, ...Buffer.from(hash, 'hex'));
  const once = createHash('sha256').update(body).digest();
  return base58.encode(Uint8Array.of(...body, ...createHash('sha256').update(once).digest().subarray(0, 4)));
};
/** An address in base58check of a hash of 20 equal bytes. */
const versioned = (version: number, byte: number): string =>
  versionedHash(version, Buffer.alloc(20, byte).toString('hex'));
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

const FILECOIN = '0xd388ab098ed3e84c0d808776440b48f685198498';
const CASH_KEY = 'bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a';
const CASH_SCRIPT = 'bitcoincash:ppm2qsznhks23z7629mms6s4cwef74vcwvn0h829pq';
const CASH_OF_TOKENS = 'bitcoincash:qr6m7j9njldwwzlg9v7v53unlr4jkmx6eylep8ekg2';
const AVALANCHE = 'avax1tzdcgj4ehsvhhgpl7zylwpw0gl2rxcg4r5afk5';
const TOKEN = '0x6b175474e89094c44da98b954eedeac495271d0f';
const TEZOS = 'KT1PWx2mnDueood7fEmfbBDKx1D9BAnnXitn';
const BITCOIN = '1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu';
const RAVENCOIN = versioned(0x3c, 7);

/** Spellings of one account, by its key. */
const ONE_ACCOUNT: readonly (readonly [key: string, spellings: readonly string[]])[] = [
  // Litecoin writes its script hashes with the version of Bitcoin or with its own.
  ['3CWFddi6m4ndiGyKqzYvsFYagqDLPVMTzC', [versionedHash(0x32, '76a04053bda0a88bda5177b86a15c3b29f559873')]],
  [
    versioned(0x05, 9),
    [versioned(0x32, 9), `litecoin:${versioned(0x32, 9)}?amount=1`, `litecoin:${versioned(0x05, 9)}`],
  ],
  [versioned(0xc4, 9), [versioned(0x3a, 9)]],
  ['t1VmmGiyjVNeCjxDZzg7vZmd99WyzVby9yC', ['tex1s2rt77ggv6q989lr49rkgzmh5slsksa9khdgte']],
  [FILECOIN, ['f410f2oekwcmo2pueydmaq53eic2i62crtbeyuzx2gmy', `filecoin:f410f2oekwcmo2pueydmaq53eic2i62crtbeyuzx2gmy`]],
  [
    'f17uoq6tp427uzv7fztkbsnn64iwotfrristwpryy',
    ['t17uoq6tp427uzv7fztkbsnn64iwotfrristwpryy', 'fil:f17uoq6tp427uzv7fztkbsnn64iwotfrristwpryy'],
  ],
  ['f3vvmn62lofvhjd2ugzca6sof2j2ubwok6cj4xxbfzz4yuxfkgobpihhd2thlanmsh3w2ptld2gqkn2jvlss4a', []],
  [AVALANCHE, [`X-${AVALANCHE}`, `P-${AVALANCHE}`, `C-${AVALANCHE}`]],
  [
    CASH_KEY,
    [
      CASH_KEY.slice(12),
      `bitcoincash:${BITCOIN}`,
      `bitcoincash:${BITCOIN}?amount=1`,
      `bitcoincash:${CASH_KEY.slice(12)}?amount=1`,
      `BITCOINCASH:${CASH_KEY.slice(12).toUpperCase()}`,
    ],
  ],
  [CASH_SCRIPT, ['bitcoincash:3CWFddi6m4ndiGyKqzYvsFYagqDLPVMTzC?amount=1']],
  [
    CASH_OF_TOKENS,
    ['bitcoincash:zr6m7j9njldwwzlg9v7v53unlr4jkmx6eycnjehshe', 'zr6m7j9njldwwzlg9v7v53unlr4jkmx6eycnjehshe'],
  ],
  [BITCOIN, [`bitcoin:${BITCOIN}`, `bitcoinsv:${BITCOIN}?sv&amount=1`, `bsv:${BITCOIN}`]],
  [RAVENCOIN, [`ravencoin:${RAVENCOIN}`, `ravencoin://${RAVENCOIN}?amount=1`]],
  [TEZOS, [`${TEZOS}%transfer`, `tezos:${TEZOS}%transfer`, `web+tezos://${TEZOS}`]],
  [
    TOKEN,
    [`eip155:1/erc20:${TOKEN}`, `eip155:1/erc721:${TOKEN}/771769`, `erc20:${TOKEN}`, `did:pkh:eip155:1:${TOKEN}`],
  ],
  [
    'hedera:mainnet:0.0.1234567890',
    [
      'hedera:mainnet:0.0.1234567890-zbhlt',
      'did:pkh:hedera:mainnet:0.0.1234567890-zbhlt',
      'hedera:mainnet/token:0.0.1234567890',
    ],
  ],
  ['hedera:testnet:0.0.1234567', []],
  ['bc1pfeessrawgf', ['BC1PFEESSRAWGF', 'bitcoin:bc1pfeessrawgf?amount=1']],
  ['bc1sw50qgdz25j', ['BC1SW50QGDZ25J']],
  [
    '0x00c5496aee77c1ba1f0854206a26dda82a81d6d8',
    ['XE7338O073KYGTWWZN0F2WZ0R8PX5ZPPZS', 'ethereum:XE7338O073KYGTWWZN0F2WZ0R8PX5ZPPZS'],
  ],
  ['kaspa:qqkqkzjvr7zwxxmjxjkmxxdwju9kjs6e9u82uh59z07vgaks6gg62v8707g73', []],
  ['mallory*evil.example', ['stellar:mallory*evil.example', 'Mallory*Evil.example']],
  // An example of BIP-173. IsBtcAddress of class-validator 0.15.1 refuses script addresses and capitals.
  [
    'bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3',
    ['BC1QRP33G0Q5C5TXSP9ARYSRX4K6ZDKFS4NCE4XJ0GDCCCEFVPYSXF3QCCFMV3'],
  ],
  // Capitals, and the letter case of another chain (EIP-1191). isAddress of viem 2.57.20 refuses both.
  [
    '0x1234567890abcdef1234567890abcdef12345678',
    ['0X1234567890ABCDEF1234567890ABCDEF12345678', '0x1234567890AbcdEF1234567890aBcdef12345678'],
  ],
  // 32 bytes in hexadecimal. validateAddress of @polkadot/util-crypto 14.0.3 takes them for a Polkadot address.
  [`0x${'12'.repeat(32)}`, []],
  // The kinds of an address, on the main and the test network. @ton/core 0.63.1 writes all of them as EQ….
  [
    '0:ed1691307050047117b998b561d8de82d31fbf84910ced6eb5fc92e7485ef8a7',
    [
      'EQDtFpEwcFAEcRe5mLVh2N6C0x-_hJEM7W61_JLnSF74p4q2',
      'UQDtFpEwcFAEcRe5mLVh2N6C0x-_hJEM7W61_JLnSF74p9dz',
      'kQDtFpEwcFAEcRe5mLVh2N6C0x-_hJEM7W61_JLnSF74pzE8',
      '0QDtFpEwcFAEcRe5mLVh2N6C0x-_hJEM7W61_JLnSF74p2z5',
    ],
  ],
  [`0:${'ab'.repeat(32)}`, [`ton://transfer/0:${'ab'.repeat(32)}?amount=1`]],
];

describe('Spellings of one account', () => {
  const rows = ONE_ACCOUNT.flatMap(([key, spellings]) => [key, ...spellings].map((text) => [text, key] as const));
  it.each(rows)('%s is the account %s', (text, key) => {
    expect(parseContent(text).parsed).toMatchObject({ type: 'ADDRESS', keys: [`ADDRESS:${key}`] });
    expect(parseContent(text).parsed?.isUncertain ?? false).toBe(false);
    expect(assetKey({ type: 'ADDRESS', content: text })).toBe(`ADDRESS:${key}`);
  });

  it.each([
    ['with a wrong checksum', 'f410f2oekwcmo2pueydmaq53eic2i62crtbeyuzx2gma'],
    ['with a wrong checksum', 'f17uoq6tp427uzv7fztkbsnn64iwotfrristwpryz'],
    ['with wrong check digits', 'XE7438O073KYGTWWZN0F2WZ0R8PX5ZPPZS'],
    ['with a wrong checksum', 'bc1pfeessrawgg'],
    ['without a valid account', 'bitcoinsv:1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggv'],
    ['without a valid account', 'eip155:1/erc20:0x1234'],
    ['with a wrong checksum', 'X-avax1tzdcgj4ehsvhhgpl7zylwpw0gl2rxcg4r5afk6'],
    ['that are a digest', `sha256:${'ab'.repeat(32)}`],
    ['with the checksum of another chain', `ecash:${CASH_KEY.slice(12)}`],
    ['that is no account', 'hedera:mainnet:0.0.1234567890-zbh'],
    // Others read 40 digits without `0x` (`ethers` 6.17.0); a digest of SHA-1 looks the same, so this service does not.
    ['without a mark', TOKEN.slice(2)],
  ])('%s are not read: %s', (_, text) => {
    expect(parseContent(text)).toEqual({ code: 'parse-error' });
  });

  it('keep a name of a chain as the host of that name', () => {
    for (const text of [
      'ton://transfer/evil.ton',
      'ton:evil.ton',
      'ton://transfer/evil.ton?amount=1',
      'tonkeeper://transfer/evil.ton',
    ])
      expect(parseContent(text).parsed?.keys).toEqual(['URL:evil.ton']);
    for (const [text, host] of [
      ['solana:evil.sol?amount=1', 'evil.sol'],
      ['tezos:evil.tez', 'evil.tez'],
      ['near:mainnet:evil.near', 'evil.near'],
    ] as const)
      expect(parseContent(text).parsed?.keys).toEqual([`URL:${host}`]);
  });

  it('have one key for a name with either apostrophe', () => {
    for (const text of ["nick's.eth", "https://nick's.eth/", 'nick’s.eth', 'https://nick’s.eth', "ethereum:nick's.eth"])
      expect(parseContent(text).parsed?.keys).toEqual(['URL:xn--nicks-2v3b.eth']);
  });

  it('find the server of a federated name, which can block it', () => {
    expect(parseContent('mallory*evil.example').parsed?.carriers?.map(({ keys }) => keys)).toEqual([
      ['URL:evil.example'],
    ]);
  });

  it.each([
    ['did:web:example.com', 'https://example.com/'],
    ['did:web:example.com%3A3000', 'https://example.com:3000/'],
    ['did:web:example.com:user:alice', 'https://example.com/user/alice'],
    ['did:webvh:QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKTi1E:example.com:user', 'https://example.com/user'],
  ])('%s is on the host of its document', (text, link) => {
    expect(parseContent(text).parsed?.keys).toEqual(parseContent(link).parsed?.keys);
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

  it('is read as one although its end is also a valid checksum of SS58', () => {
    const id = [253, 35, 50, 189, 95, 5, 2, 4, 6, 55, 255, 65, 60, 254, 6, 138, 0, 173, 0, 173];
    expect(readAccount(ripple(0x05, 0x44, ...id, ...tagBytes(2_571_566_748)))).toEqual(
      readAccount(`${ripple(0, ...id)}?dt=2571566748`),
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
