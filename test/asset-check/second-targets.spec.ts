import { describe, expect, it } from '@jest/globals';
import { checkerOf } from './checker-of.js';

const EVIL = '0x00000000000000000000000000000000000000e1';
const OWN = [
  'ALLOWED URL good.example',
  'BLOCKED URL evil.example',
  `BLOCKED ADDRESS ${EVIL}`,
  'BLOCKED EMAIL b@evil.example',
  'ALLOWED EMAIL a@good.example',
  // One mailbox of a trusted host.
  'ALLOWED URL partner.example',
  'BLOCKED EMAIL w@partner.example',
] as const;
const TARGETS = [
  'evil.example',
  'www.evil.example',
  '//evil.example',
  'https:evil.example',
  'https://evil.example/a',
  'hxxps://evil[.]example',
  'ftp://evil.example',
  'b@evil.example',
  EVIL,
  `ethereum:${EVIL}`,
  'metamask://dapp/evil.example',
  'https://slack-redir.net/link?url=https%3A%2F%2Fevil.example',
];

describe('A second target in a text', () => {
  it.each(TARGETS)('blocks the text, however it is written: %s', async (target) => {
    const check = await checkerOf(OWN);
    for (const first of [
      'https://good.example/',
      'https://good.example/a?b=c',
      'good.example/',
      'http://good.example/a',
    ])
      for (const between of [
        ' ',
        '\n',
        '\r\n',
        '\t',
        '\u0001',
        '\u00a0',
        ', ',
        ',',
        '<',
        '](',
        ' (',
        ' and ',
        ';',
        '"',
        '|',
        '。',
        '，',
        '：',
        '請',
        'は',
        '다',
        '】',
      ].slice(0, /^h\w\wps?:\/\//.test(target) ? undefined : -7))
        expect([first, between, check(first + between + target).status]).toEqual([first, between, 'BLOCKED']);
  });

  it.each(['unknown.example', '@unknown', 'javascript:alert(1)', 'c@unknown.example', 'tg://resolve?domain=unknown'])(
    'makes the text uncertain if nothing is known about it: %s',
    async (target) => {
      const check = await checkerOf(OWN);
      for (const between of [' ', '\n', ',', '<'])
        expect(check(`https://good.example/a${between}${target}`).status).toBe('UNKNOWN');
    },
  );

  it.each([
    'https://good.example/my report 2026.pdf',
    'https://good.example/a,b.html',
    'https://good.example/maps/@52.5,13.4,15z',
    'https://good.example/?ids=1,2,3',
    'https://good.example/a (copy)',
    '"https://good.example/a",',
    ' https://good.example/a \n',
    'https://good.example/維基/はhttps',
    '请点击：https://good.example/a',
  ])('is no part of a path: %j', async (text) => {
    expect((await checkerOf(OWN))(text).status).toBe('ALLOWED');
  });
});

describe('A text or the content of a QR code that names links', () => {
  const encoded = encodeURIComponent('Your parcel: https://evil.example/a');
  it.each([
    'Your parcel waits at https://evil.example/a until tomorrow.',
    '【USPS】https://evil.example/a',
    '请点击：https://evil.example/a',
    '请点击https://evil.example/a 谢谢',
    'ここをクリックhxxps://evil.example/a',
    '여기를 클릭하세요http://evil.example',
    '见（https://evil.example/a）',
    'SMSTO:+15550100:请点击https://evil.example/a',
    'BEGIN:VCARD\nVERSION:3.0\nN:Doe;Jane\nURL:https://evil.example/\nEND:VCARD',
    'BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Jane\r\nURL;TYPE=work:https://evil.example/a\r\nEMAIL:a@good.example\r\nEND:VCARD',
    `sms:+15550100?body=${encoded}`,
    `sms:+15550100&body=${encoded}`,
    'SMSTO:+15550100:Your parcel: https://evil.example/a',
    'smsto:+15550100:https://evil.example/a',
    'MATMSG:TO:a@good.example;SUB:Parcel;BODY:see https://evil.example/a;;',
    'MATMSG:TO:b@evil.example;SUB:Parcel;BODY:Hello;;',
    'MATMSG:TO:w@partner.example;SUB:Parcel;BODY:Hello;;',
    'MATMSG:SUB:Parcel;TO:w@partner.example;BODY:Hello;;',
    'matmsg:email:w@partner.example;;',
    'SMSTO:+15550100:to:w@partner.example',
    'MECARD:N:Doe;URL:https://evil.example/;;',
    String.raw`MECARD:N:x;URL:http\://evil.example/;;`,
    String.raw`MECARD:URL:https\://evil.example/a\;b;N:x;;`,
    'MECARD:URL:evil.example;;',
    'MECARD:EMAIL:w@partner.example;N:Doe;;',
    String.raw`MATMSG:TO:a@good.example;SUB:x;BODY:see https\://evil.example/a;;`,
    String.raw`BEGIN:VCARD
VERSION:3.0
N:Doe\, Jane
item1.URL;type=pref:https\://evil.example/a
item1.X-ABLabel:_$!<HomePage>!$_
END:VCARD`,
    'BEGIN:VCARD\nVERSION:3.0\nitem2.EMAIL;type=INTERNET;type=HOME:w@partner.example\nEND:VCARD',
    'BEGIN:VCARD\nVERSION:2.1\nEMAIL;INTERNET;PREF:w@partner.example\nEND:VCARD',
    'BEGIN:VCARD\nVERSION:4.0\nEMAIL;TYPE="work,home":w@partner.example\nEND:VCARD',
  ])('is blocked with them: %j', async (text) => {
    expect((await checkerOf(OWN))(text).status).toBe('BLOCKED');
  });

  it('is allowed only if all of them are', async () => {
    const check = await checkerOf(OWN);
    expect(check('MATMSG:TO:a@good.example;SUB:x;BODY:see https://good.example/a;;').status).toBe('ALLOWED');
    expect(check('MATMSG:TO:c@unknown.example;SUB:x;BODY:see https://good.example/a;;').status).toBe('UNKNOWN');
    expect(check('sms:+15550100').status).toBe('UNKNOWN');
    expect(check(String.raw`MECARD:N:Doe\, Jane;URL:https\://good.example/;;`).status).toBe('ALLOWED');
    expect(check(String.raw`MECARD:N:Doe;URL:https\://unknown.example/;;`).status).toBe('UNKNOWN');
  });
});

describe('A link behind an address of the machine itself', () => {
  it.each([
    'http://localhost/ https://evil.example/x',
    'about:blank\nhttps://evil.example/x',
    'http://192.168.1.1/login then hxxps://evil.example/x',
  ])('blocks the text: %s', async (text) => {
    expect((await checkerOf(OWN))(text).status).toBe('BLOCKED');
  });

  it.each(['http://localhost/ https://good.example/', 'data:text/html,<a href= https://evil.example>'])(
    'neither allows it, nor is read from a script: %s',
    async (text) => {
      expect((await checkerOf(OWN))(text).status).toBe('UNKNOWN');
    },
  );
});

describe('Several pages of one host in a text', () => {
  const PAGE = 'https://bad.example/login';
  const encoded = encodeURIComponent;
  const TEXTS = [
    `${PAGE} is a scam`,
    `${PAGE}, thanks`,
    `"${PAGE}" now`,
    `${PAGE}; or call`,
    `${PAGE}\nhttps://bad.example/`,
    `https://bad.example/ and ${PAGE}`,
    `[a](${PAGE}) [b](https://bad.example/)`,
    `[a](https://bad.example/) [b](${PAGE})`,
    `see ${PAGE} or https://bad.example/x now`,
    `https://bad.example/ ${PAGE},x ${PAGE} now`,
    `https://www.google.com/url?q=${encoded(PAGE)}&url=${encoded('https://bad.example/x')}`,
    `sms:1?body=${encoded(`${PAGE} https://bad.example/x`)}`,
    `intent://bad.example/x#Intent;scheme=https;S.browser_fallback_url=${encoded(PAGE)};end`,
  ];

  it.each(TEXTS)('are each looked up: %s', async (text) => {
    const list = { text: 'bad.example/login\n' };
    expect((await checkerOf([], [list]))(text).status).toBe('BLOCKED');
    const allowing = { verdict: 'ALLOWED', text: 'bad.example\n' } as const;
    expect((await checkerOf([], [list, allowing]))(text).status).toBe('BLOCKED');
    expect((await checkerOf(['BLOCKED PAGE bad.example/login', 'ALLOWED URL bad.example']))(text).status).toBe(
      'BLOCKED',
    );
  });

  it('leave nothing open if all of the host is allowed', async () => {
    const check = await checkerOf(['ALLOWED URL bad.example']);
    expect(check(`${PAGE} is good`).status).toBe('ALLOWED');
    expect(check(`https://bad.example/read.php?1,5`).status).toBe('ALLOWED');
  });

  it('are not the begins of a link with punctuation in it', async () => {
    expect((await checkerOf(['BLOCKED PAGE bad.example/login']))(`${PAGE},x`).status).toBe('UNKNOWN');
  });
});

describe('A host before other text', () => {
  it.each([
    'https://evil.example is a scam',
    'https://evil.example, beware',
    'https://evil.example <x>',
    'http://evil.example evil.example',
  ])('can block the text, and never allow it: %s', async (text) => {
    const check = await checkerOf(OWN);
    expect(check(text).status).toBe('BLOCKED');
    expect(check(text.replaceAll('evil', 'good')).status).toBe('UNKNOWN');
  });
});

describe('A text in emphasis', () => {
  it.each(['https://evil.example/', 'evil.example', 'evil.example/p', EVIL, 'b@evil.example'])(
    'is read without the marks: %s',
    async (text) => {
      const check = await checkerOf(OWN);
      for (const mark of ['*', '**', '***', '~~'])
        expect([mark, check(mark + text + mark).status]).toEqual([mark, 'BLOCKED']);
      expect(check(`*.${'evil.example'}`).asset?.content).toBe('*.evil.example');
    },
  );
});

describe('Remote files and defanged dots', () => {
  it.each([
    'file://evil.example/share/a.exe',
    'file:////evil.example/share',
    String.raw`\\evil.example@SSL@443\DavWWWRoot\a`,
    String.raw`\\evil.example@80\a`,
    String.raw`search-ms:query=x&crumb=location:\\evil.example\share&displayname=Downloads`,
    String.raw`hxxps://evil\.example/a`,
    String.raw`https://evil\.example[/]a`,
  ])('are read as the host: %s', async (text) => {
    expect((await checkerOf(OWN))(text).status).toBe('BLOCKED');
  });

  it.each(['file:///etc/passwd', 'file://localhost/etc', 'file://C:/a', String.raw`https://evil\.example`])(
    'are not read as a host that they do not name: %s',
    async (text) => {
      expect((await checkerOf(OWN))(text).status).not.toBe('BLOCKED');
    },
  );

  it.each([
    String.raw`https://evil.example\.good.example/[.]`,
    String.raw`https://[.]@evil.example\.good.example/`,
    String.raw`HTTP://[::1]@evil.example\.good.example/`,
    String.raw`http:/evil.example\.good.example?a(dot)b`,
    String.raw`https://evil.example\[.]good.example/`,
    String.raw`https://evil.example\.good.example/é[.]`,
  ])('do not join what a browser opens with what is behind it: %s', async (text) => {
    expect((await checkerOf(OWN))(text).status).toBe('BLOCKED');
  });

  it('a title is not opened', async () => {
    expect((await checkerOf(OWN))('<a title="https://evil.example" href="https://good.example/">x</a>').status).toBe(
      'ALLOWED',
    );
  });
});
