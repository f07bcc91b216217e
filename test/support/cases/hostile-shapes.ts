const repeat = (text: string, length: number): string =>
  text.repeat(Math.max(0, Math.ceil(length / text.length))).slice(0, Math.max(0, length));

/** Creates a text of a given length that is slow for a naive parser. */
type Shape = (length: number) => string;

const filled =
  (before: string, unit: string, after = ''): Shape =>
  (length) =>
    before + repeat(unit, length - before.length - after.length) + after;

/** Creates a text of fixed length, for types of content with a maximum length. */
const fixed =
  (text: string): Shape =>
  () =>
    text;

/** Distinct characters: punycode takes time proportional to the square of their number. */
const ideographs = (count: number, first = 0x4e00): string =>
  String.fromCodePoint(...Array.from({ length: count }, (_, n) => first + n * 5));

const SHAPES: Readonly<Record<string, Shape>> = {
  labels: filled('', 'a.'),
  'labels of a URL': filled('https://', 'a.', 'evil.example/'),
  '127 labels': fixed(`${repeat('a.', 252)}b`),
  'labels under a listed host': fixed(`${repeat('a.', 230)}evil.example`),
  'one label': filled('', 'a'),
  'letters beyond ASCII': filled('', 'é'),
  'labels beyond ASCII': filled('https://', 'é.', 'com'),
  ideographs: (length) => ideographs(length),
  'ideographs in a URL': (length) => `https://${ideographs(length - 12)}.com`,
  'the largest number of ideographs that is converted': fixed(`https://${ideographs(255)}.com`),
  'ideographs in percent codes': (length) =>
    `https://${encodeURIComponent(ideographs(Math.floor(length / 9) - 2))}.com`,
  'labels of ideographs': (length) =>
    `https://${Array.from({ length: Math.floor(length / 64) }, (_, k) => ideographs(63, 0x4e00 + k)).join('.')}.com`,
  'mixed scripts': filled('https://', 'аa例', '.com'),
  'right to left': filled('', '\u0627\u0301', '.com'),
  'marks out of order': filled('https://a', '\u0315\u0300\u05ae', '.com'),
  'the largest number of marks that is converted': fixed(`https://a${repeat('\u0315\u0300\u05ae', 500)}.com`),
  joiners: filled('https://a', '\u200d', '.com'),
  'ignored characters': filled('https://evil', '\u00ad', '.example'),
  'ligatures that expand': filled('https://', 'ﷺ', '.com'),
  'labels of punycode': filled('https://', 'xn--a-0ca.', 'com'),
  'one label of punycode': filled('xn--', '99999', '.com'),
  'invalid punycode': filled('xn--a.', 'a', '^'),
  'labels of invalid punycode': filled('', 'xn--a.', '^'),
  'percent chains': filled('', '%25'),
  'a percent-coded host': filled('https://', '%C3%A9', '.com'),
  'percent codes in a path': filled('evil.example/', '%2e%2e/'),
  'percent codes in the path of a profile': filled('https://x.com/', '%7e'),
  'letters beyond ASCII in the path of a profile': filled('https://x.com/', '가'),
  'dots in a path': filled('evil.example/', '../'),
  slashes: filled('', '/'),
  backslashes: filled('http:', '\\'),
  'slashes in a path': filled('evil.example', '//'),
  'parts of a path': filled('evil.example', '/@a', '%'),
  'parent pages of a page': filled('https://sites.google.com', '/a'),
  'parent profiles of a page': filled('https://github.com', '/a'),
  ats: filled('', '@'),
  users: filled('', 'a:b@', 'evil.example'),
  'a user of ideographs': filled('https://', '例子', '@evil.example/'),
  colons: filled('', ':'),
  'an endless IPv6 address': filled('', 'a:'),
  'colons with an end': filled('', 'a:', '%'),
  'colons with a code at the end': filled('https://', 'a:', '%20!'),
  'colons with a sign at the end': filled('', 'a:', '!'),
  'colons in brackets': filled('https://[', 'a:', ']'),
  'colons after a chain': filled('eip155:', 'a:'),
  digits: filled('', '9'),
  'dotted digits': filled('', '1.'),
  'a hexadecimal number': filled('0x', 'f'),
  base58: filled('', '1'),
  'base58 of the length of an address': fixed(repeat('z', 106)),
  'base58 of the longest address': fixed(repeat('z', 256)),
  bech32: fixed(`bc1${repeat('q', 120)}`),
  base32: fixed(repeat('A', 58)),
  brackets: filled('', '[.]'),
  'brackets in a URL': filled('https://', '(.)', '^'),
  'open brackets': filled('', '['),
  'defanged schemes': filled('', 'h[x]p'),
  'content on IPFS': filled('x.example', '/ipfs/'),
  'a link with many parameters': filled('x.com/?', 'a=b&'),
  'an e-mail address': fixed(`${repeat('a.', 64)}@${repeat('é', 250)}`),
  'quotes at both ends': filled('', '"\u201c', 'evil.example'),
  'quotes after a name': filled('https://x.com/evil', '\u201d"'),
  'invisible characters': filled('0x', 'a\u200b'),
  'brackets of a mailbox': filled('a', '<', '@evil.example>'),
  'an invalid mailbox': filled('a <', 'a@'),
  'a payment with slashes': filled('ethereum:', 'a/'),
  'a payment with parameters': filled('ethereum:0xabcdefabcdef0123456789abcdefabcdef012345/transfer?', 'address=1&'),
  'a chain of names': filled('eip155:', '1:'),
  'a scheme of an app': filled('tg://', '/'),
  'a host after a scheme': filled('tg://', 'a', '.b'),
  'a fragment of a profile': filled('https://x.com/#!', '/a'),
  'wrappers of a profile': filled('https://opensea.io', '/de'),
  'a number after dashes': filled('https://facebook.com/p/', '-1'),
  blanks: filled('', ' '),
  'blanks between letters': filled('a', ' ', 'a'),
  'wide blanks between letters': filled('a', '\u00a0', 'a'),
  'blanks and control characters': filled('', '\u0000\u00a0', 'evil.example'),
  'line breaks in a URL': filled('https://evil', '\n\t', '.example'),
  'a scheme in pieces': filled('java', '\n', 'script:x'),
  'wrapping links in wrapping links': filled('', 'https://metamask.app.link/dapp/'),
  'wrapping links in percent codes': filled(
    'https://go.cb-w.com/dapp?cb_url=',
    'https%3A%2F%2Fgo.cb-w.com%2Fdapp%3Fcb_url%3D',
  ),
  'a wrapping link with many parameters': filled('https://go.cb-w.com/dapp?', 'cb_url=a.b&'),
  'links of an unknown app': filled('some-wallet://open?', 'url=https://'),
  'an intent with many parameters': filled('intent:#Intent;', 'S.browser_fallback_url=a.b;'),
  'a wrapping link that carries no link': filled('https://metamask.app.link/dapp/', '^'),
  'Markdown in Markdown': filled('', '[a]('),
  'Markdown without a target': filled('[', '](', ' '),
  'Markdown with brackets in its target': filled('[a](', '(a)'),
  'Markdown with open brackets in its target': filled('[a](', '(a'),
  'a label of Markdown': filled('[', 'a', ']: '),
  'an element of HTML': filled('<a ', 'href '),
  'angle brackets': filled('', '<a'),
  'bars in angle brackets': filled('<', 'a|'),
  'tags of a forum': filled('[url]', 'a'),
  'a link in percent codes, again and again': filled('https%', '25', '3A%2F%2Fevil.example'),
  'percent codes after a name': filled('a%2f', '%2f'),
  'percent codes that are broken': filled('https%3A%2F%2F', '%FF%'),
  'labels of few letters beyond ASCII': filled('https://', 'é.a.', 'com'),
  '126 labels beyond ASCII': fixed(`https://${repeat('é.', 250)}com`),
  'labels of several scripts': filled('https://', 'é.\u05d0.例.', 'com'),
  'wide dots': filled('https://', 'a\u3002', 'com'),
  'an account with parameters': filled('rGWrZyQqhTp9Xu7G5Pkayo7bXjH4k4QYpf?', 'dt=1&'),
  'a memo': filled('stellar:pay?memo=', '%F0%9F%98%80'),
  'a contact of field names': filled('MECARD:', 'a.to;b=c'),
  'a contact of parameters': filled('MECARD:', ':url;a="b,'),
  'a contact of escaped signs': filled('BEGIN:VCARD\n', '\\:'),
  'links without spaces': filled('請', '請https://a'),
  NULs: filled('', '\u0000'),
  'lone surrogates': filled('', '\ud800'),
};

/** Returns hostile contents of at most `length` characters. */
export const hostileContents = (length: number): [name: string, content: string][] =>
  Object.entries(SHAPES).map(([name, shape]) => [name, shape(length).slice(0, length)]);

const PREFIXES: readonly string[] = [
  '',
  'https://',
  'tg://',
  'intent://',
  'mailto:',
  '[a](',
  '<a href="',
  'lnurlw:',
  'bitcoin:?bc=',
  'LNURL1',
  'https://phantom.app/ul/browse/',
  'metamask.app.link/dapp/',
  'https://cdn.ampproject.org/c/s/',
  'https://urldefense.com/v3/__',
  'https://urldefense.proofpoint.com/v2/url?u=',
  'https://www.google.com/url?q=',
  'https://nam02.safelinks.protection.outlook.com/?url=',
  'some-app://open?url=https://',
  'tpdapp://open?params=',
  'https://linktr.ee/',
  'https://linktr.ee/?',
  'https://www.youtube.com/watch?v=',
  'https://x.com/evil/status/',
  'https://evil.example/ipfs/',
  'https://evil--x.translate.goog/',
  'https://good.example/',
  'ethereum:0xabcdefabcdef0123456789abcdefabcdef012345/transfer?address=',
];
const FILLINGS =
  'a . / ? % %2f %25 %F0%9F%98%80 é \u3002 \uff0e \u{e0100} \u{16fe0} \u{1f600} \u200b \u0300 İ {dot} [.] ( * _ - ; \\ : # ../ ?a=b& &#46; &amp; a.eth,'.split(
    ' ',
  );
const NESTINGS = [1, 2, 6, 8];

/** Returns contents of `length` characters: the beginnings of links, nested, and each filled with each filling. */
export const generatedContents = (length: number): [name: string, content: string][] =>
  PREFIXES.flatMap((prefix) =>
    NESTINGS.slice(0, prefix === '' ? 1 : undefined).flatMap((times) =>
      [...FILLINGS, ' https://a.b'].map((filling): [string, string] => [
        `${JSON.stringify(prefix)} × ${times} and ${JSON.stringify(filling)}`,
        repeat(prefix.repeat(times) + repeat(filling, length), length),
      ]),
    ),
  );
