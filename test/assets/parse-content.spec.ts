import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { assetHash, assetKey } from '../../src/assets/asset-key.js';
import { parseContent } from '../../src/assets/parse-content.js';
import { linkForms } from '../support/cases/link-forms.js';
import { sized } from '../support/full-size.js';

/** Formats the parsed content as `TYPE name`, or returns the code. */
const readingOf = (content: string): string => {
  const { parsed, code } = parseContent(content);
  return parsed === undefined ? code : `${parsed.type} ${parsed.name}`;
};

/** The first example of the CashAddr specification. */
const CASH = 'bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a';
const EVM = '0xabcdefabcdef0123456789abcdefabcdef012345';
/** Alice's public key. */
const ALICE = '0xd43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d';
const CID = 'bafybeie5nqv6kd3qnfjupgvz34woh3oksc3iau6abmyajn7qvtf47pxkue';
const CID_0 = 'QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKTi1E';
const TON = '0:ed1691307050047117b998b561d8de82d31fbf84910ced6eb5fc92e7485ef8a7';

const BECH32 = 'bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq';
/** A code of a merchant for PIX. @param account its fields after the name of the system */
const merchant = (account: string): string => {
  const template = `0014br.gov.bcb.pix${account}`;
  return `00020101021226${template.length}${template}5204000053039865802BR5913Fulano de Tal6008BRASILIA62070503***63041D3D`;
};

const CASES: Record<string, readonly (readonly [content: string, reading: string])[]> = {
  'what a browser wraps': [
    ['blob:https://evil.example/uuid', 'URL evil.example'],
    ['view-source:https://evil.example', 'URL evil.example'],
    ['view-source:evil.example/a', 'URL evil.example'],
    ['View-Source:view-source:http://evil.example', 'URL evil.example'],
    ['filesystem:https://evil.example/temporary/x', 'URL evil.example'],
    ['about:reader?url=https%3A%2F%2Fevil.example%2Fa', 'URL evil.example'],
    ['about:neterror?e=x&u=https%3A//evil.example/', 'URL evil.example'],
    ['chrome-distiller://a_1/?title=x&url=https%3A%2F%2Fevil.example', 'URL evil.example'],
    ['chrome-extension://mhjfbmdgcfjbbpaeojofohoefgiehjai/https://evil.example/a.pdf', 'URL evil.example'],
    ['read://https_evil.example/?url=https%3A%2F%2Fevil.example%2Fa', 'URL evil.example'],
    ['read://https_evil.example', 'URL evil.example'],
  ],
  'mailboxes behind a scheme': [
    ['lightning:pay@box.example', 'EMAIL pay@box.example'],
    ['LIGHTNING://Pay@Box.example?amount=1', 'EMAIL pay@box.example'],
    ['₿pay@box.example', 'EMAIL pay@box.example'],
    ['xmpp:pay@box.example?message', 'EMAIL pay@box.example'],
    ['sip:pay@box.example;transport=tcp', 'EMAIL pay@box.example'],
    ['user,name@box.example', 'EMAIL name@box.example'],
    ['mailto:evil.example', 'parse-error'],
    ['mailto://good.example', 'parse-error'],
    ['mailto:a@b@good.example', 'parse-error'],
    ['mailto:user:secret@good.example', 'parse-error'],
  ],
  'accounts as people copy them': [
    ['bc1q ar0s rrr7 xfkv y5l6 43ly dnw9 re59 gtzz wf5m dq', `ADDRESS ${BECH32}`],
    [`bitcoin: ${BECH32}`, `ADDRESS ${BECH32}`],
    ['0xabcdefabcdef0123456789\u00a0abcdefabcdef012345', `ADDRESS ${EVM}`],
    [`Please send 0.1 BTC to ${BECH32} today.`, `ADDRESS ${BECH32}`],
    [`The address ("${EVM}").`, `ADDRESS ${EVM}`],
    [`${EVM} 1234567890`, `ADDRESS ${EVM}`],
    ['bc1q ar0s rrr7 xfkv y5l6 43ly dnw9 re59 gtzz wf5m dp', 'parse-error'],
  ],
  "merchants' codes": [
    [merchant('2538pix.evil.example/qr/v2/9d36b84f-c70b-478'), 'URL pix.evil.example'],
    [merchant('0117evil@evil.example'), 'EMAIL evil@evil.example'],
    [merchant('0136123e4567-e12b-12d1-a456-426655440000'), 'parse-error'],
  ],
  "copied from a mail's source": [
    ['https://www.google.com/url?q=3Dhttps%3A%2F%2Fevil.example%2F&amp;sa=3DD', 'URL evil.example'],
    ['https://evil=\r\n.example/path', 'URL evil.example'],
    ['https://www.google.com/url?sa=3DD&q=3Dhtt=\nps://evil.example', 'URL evil.example'],
    ['<a href=3D"https://evil.example/">x</a>', 'URL evil.example'],
    ['https://www.youtube.com/watch?v=3Dabcdefgh1', 'PAGE youtube.com/watch?v=3Dabcdefgh1'],
    ['https://www.google.com/url?q=\nhttps://evil.example', 'URL evil.example'],
  ],
  'links of apps without a host': [
    ['spotify://track/4uLU6hMCjMI75M1A2tKUQC', 'parse-error'],
    ['otpauth://totp/Acme:a?secret=AB&issuer=Acme', 'parse-error'],
    ['intent://scan/#Intent;scheme=https;host=evil.example;package=x;end', 'URL evil.example'],
    ['intent:#Intent;host=evil.example;path=/a;end', 'URL evil.example'],
  ],
  'hosts and URLs': [
    ['evil.example', 'URL evil.example'],
    ['EVIL.example', 'URL evil.example'],
    ['evil.example.', 'URL evil.example'],
    ['Evil.Example.', 'URL evil.example'],
    ['  evil.example\n', 'URL evil.example'],
    ['\tevil.example ', 'URL evil.example'],
    ['http://evil.example', 'URL evil.example'],
    ['https://evil.example', 'URL evil.example'],
    ['HTTPS://EVIL.EXAMPLE', 'URL evil.example'],
    ['ftp://evil.example/', 'URL evil.example'],
    ['ws://evil.example/', 'URL evil.example'],
    ['wss://evil.example/', 'URL evil.example'],
    ['//evil.example', 'URL evil.example'],
    ['https:evil.example', 'URL evil.example'],
    ['https:/evil.example', 'URL evil.example'],
    ['https:////evil.example', 'URL evil.example'],
    ['https:\\\\evil.example\\x', 'URL evil.example'],
    ['evil.example/', 'URL evil.example'],
    ['evil.example/path', 'URL evil.example'],
    ['evil.example/path/', 'URL evil.example'],
    ['evil.example?q=1', 'URL evil.example'],
    ['evil.example#fragment', 'URL evil.example'],
    ['evil.example/?q=a@b', 'URL evil.example'],
    ['evil.example/@someone', 'URL evil.example'],
    ['https://evil.example/a b', 'URL evil.example'],
    ['https://evil.example/%', 'URL evil.example'],
    ['https://evil.example/%00', 'URL evil.example'],
    ['evil.example:8080', 'URL evil.example'],
    ['evil.example:443/x', 'URL evil.example'],
    ['evil.example:', 'URL evil.example'],
    ['user@evil.example/', 'URL evil.example'],
    ['user:secret@evil.example', 'URL evil.example'],
    ['https://user@evil.example', 'URL evil.example'],
    ['https://user:secret@evil.example:8443/x?y#z', 'URL evil.example'],
    ['https://good.example@evil.example/', 'URL evil.example'],
    ['https://good.example%40x@evil.example/', 'URL evil.example'],
    ['https://good.example\\@evil.example/', 'URL good.example'],
    ['www.evil.example', 'URL www.evil.example'],
    ['a.b.c.d.e.evil.example', 'URL a.b.c.d.e.evil.example'],
    ['_dmarc.evil.example', 'URL _dmarc.evil.example'],
    ['ev_il.example', 'URL ev_il.example'],
    ['ab--cd.example', 'URL ab--cd.example'],
    ['1evil.example', 'URL 1evil.example'],
    ['0x.example', 'URL 0x.example'],
    ['1.2.3.4.example', 'URL 1.2.3.4.example'],
    ['evil.co.uk', 'URL evil.co.uk'],
    ['someone.github.io', 'URL someone.github.io'],
    ['github.io', 'URL github.io'],
    ['vitalik.eth', 'URL vitalik.eth'],
    ['expyuzz4wqqyqhjn.onion', 'URL expyuzz4wqqyqhjn.onion'],
    [`${'a'.repeat(63)}.example`, `URL ${'a'.repeat(63)}.example`],
    ['%65vil.example', 'URL evil.example'],
    ['evil%2Eexample', 'URL evil.example'],
    ['ev\u00ADil.example', 'URL evil.example'],
    ['evil\u3002example', 'URL evil.example'],
    ['evil\uFF0Eexample', 'URL evil.example'],
    ['evil\uFF61example', 'URL evil.example'],
    ['\uFF45\uFF56\uFF49\uFF4C.example', 'URL evil.example'],
  ],
  'forms that browsers open': [
    ['https://ev\til.exa\r\nmple/', 'URL evil.example'],
    ['ht\ntps:\t//evil.example', 'URL evil.example'],
    ['\u0000\u001f https://evil.example \u0001', 'URL evil.example'],
    ['evil.example\u0000', 'URL evil.example'],
    ['\uFEFFhttps://evil.example', 'URL evil.example'],
    ['https://evil\uFEFF.exam\uFEFFple', 'URL evil.example'],
    [`https://e${'\u00AD'.repeat(3_000)}vil.example`, 'URL evil.example'],
    ['https://"<a b>|^`{}"@evil.example/', 'URL evil.example'],
    ['https://a@b@c@evil.example/', 'URL evil.example'],
    [`https://${'x'.repeat(3_000)}@evil.example/`, 'URL evil.example'],
    [`https://${'é'.repeat(3_000)}@evil.example/`, 'URL evil.example'],
    ['https:0x0000000000000000000000000000000008080808', 'URL 8.8.8.8'],
    ['https://[::ffff:8.8.8.8]/', 'URL 8.8.8.8'],
    ['*.evil.example', 'URL *.evil.example'],
    ['https://*.evil.example/', 'URL *.evil.example'],
    ['-evil.example', 'URL -evil.example'],
    ['https://-.evil.example/', 'URL -.evil.example'],
    ['https://ev!il.example', 'URL ev!il.example'],
    ['https://a..evil.example', 'URL a..evil.example'],
    [`https://${'a'.repeat(64)}.example`, `URL ${'a'.repeat(64)}.example`],
    [`https://${'a.'.repeat(200)}example`, `URL ${'a.'.repeat(200)}example`],
    ['https://evil(.)example', 'URL evil.example'],
    ['https://x.com/good/../evil', 'TWITTER evil'],
    ['https://x.com/ev\til ', 'TWITTER evil'],
    [`https://${'例子'.repeat(600)}.example`, `URL ${'例子'.repeat(600)}.example`],
    [`https://${'例子'.repeat(600)}。Mu\u0308nchen.example:80/x`, `URL ${'例子'.repeat(600)}.xn--mnchen-3ya.example`],
  ],
  'names in Unicode': [
    ['münchen.example', 'URL xn--mnchen-3ya.example'],
    ['MÜNCHEN.example', 'URL xn--mnchen-3ya.example'],
    ['mu\u0308nchen.example', 'URL xn--mnchen-3ya.example'],
    ['xn--mnchen-3ya.example', 'URL xn--mnchen-3ya.example'],
    ['XN--MNCHEN-3YA.example', 'URL xn--mnchen-3ya.example'],
    ['https://m%C3%BCnchen.example/', 'URL xn--mnchen-3ya.example'],
    ['faß.example', 'URL xn--fa-hia.example'],
    ['фоо.example', 'URL xn--n1aaq.example'],
    ['例え.テスト', 'URL xn--r8jz45g.xn--zckzah'],
    ['мета\u043Cask.example', 'URL xn--ask-5cdy5bc0c.example'],
    ['☃.example', 'URL xn--n3h.example'],
    ['💩.example', 'URL xn--ls8h.example'],
    ['xn--a.example', 'URL xn--a.example'],
    ['https://XN--A.example:80/x', 'URL xn--a.example'],
    ['user@sub.xn--a.Example./', 'URL sub.xn--a.example'],
    ['xn--a.example:99999', 'parse-error'],
    ['xn--.example', 'URL xn--.example'],
    ['\u200D.example', 'parse-error'],
  ],
  'defanged text': [
    ['hxxp://evil.example', 'URL evil.example'],
    ['hxxps://evil[.]example', 'URL evil.example'],
    ['hXXps://evil[.]example/x', 'URL evil.example'],
    ['HXXPS://EVIL[.]EXAMPLE', 'URL evil.example'],
    ['h**ps://evil.example', 'URL evil.example'],
    ['evil[.]example', 'URL evil.example'],
    ['evil(.)example', 'URL evil.example'],
    ['evil{.}example', 'URL evil.example'],
    ['evil[dot]example', 'URL evil.example'],
    ['evil[DOT]example', 'URL evil.example'],
    ['evil(dot)example', 'URL evil.example'],
    ['a[.]evil[.]example', 'URL a.evil.example'],
    ['evil[.example', 'URL evil.example'],
    ['evil.]example', 'URL evil.example'],
    ['hxxps[:]//evil[.]example', 'URL evil.example'],
    ['hxxps[://]evil[.]example', 'URL evil.example'],
    ['https[:]//evil.example[/]x', 'URL evil.example'],
    ['someone[@]evil[.]example', 'EMAIL someone@evil.example'],
    ['someone[at]evil[dot]example', 'EMAIL someone@evil.example'],
    ['8[.]8[.]8[.]8', 'URL 8.8.8.8'],
    ['hxxps://x[.]com/Evil', 'TWITTER evil'],
  ],
  'IP addresses': [
    ['8.8.8.8', 'URL 8.8.8.8'],
    ['8.8.8.8.', 'URL 8.8.8.8'],
    ['8.8.8.8:53', 'URL 8.8.8.8'],
    ['http://8.8.8.8/', 'URL 8.8.8.8'],
    ['http://134744072/', 'URL 8.8.8.8'],
    ['134744072', 'URL 8.8.8.8'],
    ['http://0x8080808/', 'URL 8.8.8.8'],
    ['0x08.0x08.0x08.0x08', 'URL 8.8.8.8'],
    ['010.010.010.010', 'URL 8.8.8.8'],
    ['8.526344', 'URL 8.8.8.8'],
    ['8.8.2056', 'URL 8.8.8.8'],
    ['８.８.８.８', 'URL 8.8.8.8'],
    ['203.0.113.7', 'URL 203.0.113.7'],
    ['2606:4700:4700::1111', 'URL [2606:4700:4700::1111]'],
    ['[2606:4700:4700::1111]', 'URL [2606:4700:4700::1111]'],
    ['http://[2606:4700:4700:0:0:0:0:1111]:80/', 'URL [2606:4700:4700::1111]'],
    ['[2606:4700:4700::1111]:443', 'URL [2606:4700:4700::1111]'],
    ['2001:DB8::1', 'URL [2001:db8::1]'],
    ['[::ffff:8.8.8.8]', 'URL 8.8.8.8'],
    ['http://[0:0:0:0:0:FFFF:808:808]:80/', 'URL 8.8.8.8'],
    ['256.256.256.256', 'parse-error'],
    ['1.2.3.4.5', 'parse-error'],
    ['http://4294967296/', 'parse-error'],
    ['[2606:4700', 'parse-error'],
    ['[fe80::1%25eth0]', 'internal-scheme'],
  ],
  'addresses of the browser, the machine and private networks': [
    ['chrome://settings', 'internal-scheme'],
    ['CHROME://settings', 'internal-scheme'],
    ['chrome-extension://nkbihfbeogaeaoehlefnkodbefgpgknn/home.html', 'internal-scheme'],
    ['moz-extension://x/y', 'internal-scheme'],
    ['edge://flags', 'internal-scheme'],
    ['brave://wallet', 'internal-scheme'],
    ['opera://about', 'internal-scheme'],
    ['about:blank', 'internal-scheme'],
    ['about:config', 'internal-scheme'],
    ['file:///etc/passwd', 'internal-scheme'],
    ['file://server/share', 'internal-scheme'],
    ['data:text/html,<script>', 'internal-scheme'],
    ['javascript:alert(1)', 'internal-scheme'],
    ['JavaScript:alert(1)', 'internal-scheme'],
    ['vbscript:x', 'internal-scheme'],
    ['blob:null/uuid', 'internal-scheme'],
    ['view-source:about:config', 'internal-scheme'],
    ['view-source:file:///etc/passwd', 'internal-scheme'],
    ['blob:https://localhost/uuid', 'internal-scheme'],
    ['devtools://devtools', 'internal-scheme'],
    ['localhost', 'internal-scheme'],
    ['LOCALHOST:3000/x', 'internal-scheme'],
    ['http://localhost', 'internal-scheme'],
    ['app.localhost', 'internal-scheme'],
    ['localhost.localdomain', 'internal-scheme'],
    ['printer.local', 'internal-scheme'],
    ['metadata.google.internal', 'internal-scheme'],
    ['router.home.arpa', 'internal-scheme'],
    ['http://router/', 'internal-scheme'],
    ['127.0.0.1', 'internal-scheme'],
    ['http://127.0.0.1:8080/x', 'internal-scheme'],
    ['127.1', 'internal-scheme'],
    ['2130706433', 'internal-scheme'],
    ['0x7f000001', 'internal-scheme'],
    ['fe80::1%eth0', 'internal-scheme'],
    ['http://[fe80::1%25eth0]:8080/x', 'internal-scheme'],
    ['0177.0.0.1', 'internal-scheme'],
    ['0.0.0.0', 'internal-scheme'],
    ['0', 'internal-scheme'],
    ['172.31.255.255', 'internal-scheme'],
    ['172.32.0.1', 'URL 172.32.0.1'],
    ['255.255.255.255', 'internal-scheme'],
    ['[::1]', 'internal-scheme'],
    ['::1', 'internal-scheme'],
    ['[::]', 'internal-scheme'],
    ['[fe80::1]', 'internal-scheme'],
    ['[fd00::1]', 'internal-scheme'],
    ['[::ffff:127.0.0.1]', 'internal-scheme'],
  ],
  'wallet addresses': [
    [EVM, `ADDRESS ${EVM}`],
    [EVM.toUpperCase(), `ADDRESS ${EVM}`],
    ['0xABCDEFabcdef0123456789abcdefABCDEF012345', `ADDRESS ${EVM}`],
    [` ${EVM} `, `ADDRESS ${EVM}`],
    [`ethereum:${EVM}@1?value=1`, `ADDRESS ${EVM}`],
    [`ethereum:pay-${EVM}`, `ADDRESS ${EVM}`],
    [`eip155:137:${EVM.toUpperCase().replace('0X', '0x')}`, `ADDRESS ${EVM}`],
    [`eth:${EVM}`, `ADDRESS ${EVM}`],
    [`arb1:${EVM}`, `ADDRESS ${EVM}`],
    [CASH, `ADDRESS ${CASH}`],
    [CASH.toUpperCase(), `ADDRESS ${CASH}`],
    [CASH.slice('bitcoincash:'.length), `ADDRESS ${CASH}`],
    [CASH.replace('6a', '6q'), 'parse-error'],
    [CASH.replace('bitcoincash', 'ecash'), 'parse-error'],
    ['1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa', 'ADDRESS 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa'],
    ['3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy', 'ADDRESS 3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy'],
    ['bitcoin:1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa?amount=1', 'ADDRESS 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa'],
    ['1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb', 'parse-error'],
    ['1a1zp1ep5qgefi2dmptftl5slmv7divfna', 'parse-error'],
    ['bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4', 'ADDRESS bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4'],
    ['BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4', 'ADDRESS bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4'],
    ['bc1Qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4', 'parse-error'],
    ['bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5', 'parse-error'],
    [
      'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0',
      'ADDRESS bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0',
    ],
    ['LM2WMpR1Rp6j3Sa59cMXMs1SPzj9eXpGc1', 'ADDRESS LM2WMpR1Rp6j3Sa59cMXMs1SPzj9eXpGc1'],
    ['DH5yaieqoZN36fDVciNyRueRGvGLR3mr7L', 'ADDRESS DH5yaieqoZN36fDVciNyRueRGvGLR3mr7L'],
    ['TJRabPrwbZy45sbavfcjinPJC18kjpRTv8', 'ADDRESS TJRabPrwbZy45sbavfcjinPJC18kjpRTv8'],
    ['TJRabPrwbZy45sbavfcjinPJC18kjpRTv9', 'parse-error'],
    ['So11111111111111111111111111111111111111112', 'ADDRESS So11111111111111111111111111111111111111112'],
    ['11111111111111111111111111111111', 'ADDRESS 11111111111111111111111111111111'],
    [
      'solana:EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v?amount=1',
      'ADDRESS EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
    ],
    ['15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5', `ADDRESS ${ALICE}`],
    ['5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY', `ADDRESS ${ALICE}`],
    ['HNZata7iMYWmk5RvZRTiAsSDhV8366zq2YGb3tLH5Upf74F', `ADDRESS ${ALICE}`],
    [ALICE, `ADDRESS ${ALICE}`],
    ['5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQZ', 'parse-error'],
    ['EQDtFpEwcFAEcRe5mLVh2N6C0x-_hJEM7W61_JLnSF74p4q2', `ADDRESS ${TON}`],
    ['UQDtFpEwcFAEcRe5mLVh2N6C0x-_hJEM7W61_JLnSF74p9dz', `ADDRESS ${TON}`],
    ['EQDtFpEwcFAEcRe5mLVh2N6C0x+/hJEM7W61/JLnSF74p4q2', `ADDRESS ${TON}`],
    [TON, `ADDRESS ${TON}`],
    [TON.toUpperCase(), `ADDRESS ${TON}`],
    ['rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh', 'ADDRESS rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh'],
    [
      'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ',
      'ADDRESS GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ',
    ],
    ['GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGA', 'parse-error'],
    ['tz1VSUr8wwNhLAzempoch5d6hLRiTh8Cjcjb', 'ADDRESS tz1VSUr8wwNhLAzempoch5d6hLRiTh8Cjcjb'],
    ['cosmos1hsk6jryyqjfhp5dhc55tc9jtckygx0eph6dd02', 'ADDRESS cosmos1hsk6jryyqjfhp5dhc55tc9jtckygx0eph6dd02'],
    ['0x1234', 'internal-scheme'],
    [EVM.slice(0, -1), 'parse-error'],
    [`${EVM}0`, 'parse-error'],
  ],
  // Links to profiles are in link-forms.txt.
  'handles and pages': [
    ['https://x.com/search?q=evil', 'PAGE x.com/search?q=evil'],
    ['a.evil.t.me', 'URL a.evil.t.me'],
    ['@evil_support1', 'TWITTER evil_support1'],
    ['@This_is_longer_than_fifteen', 'TELEGRAM this_is_longer_than_fifteen'],
    ['@this_is_longer_than_thirty_two_characters', 'parse-error'],
    ['@1_is_longer_than_fifteen', 'parse-error'],
    ['@', 'parse-error'],
    ['@user@mastodon.example', 'parse-error'],
    ['https://x.com/', 'URL x.com'],
    ['https://sites.google.com/view/Evil', 'PAGE sites.google.com/view/Evil'],
    ['https://sites.google.com/view/Evil/?authuser=0#top', 'PAGE sites.google.com/view/Evil'],
    ['https://sites.google.com/', 'URL sites.google.com'],
    ['https://telegra.ph/Evil-01-01', 'PAGE telegra.ph/Evil-01-01'],
  ],
  'e-mail and content on IPFS': [
    ['Some.One+tag@EVIL.example', 'EMAIL some.one+tag@evil.example'],
    ['mailto:someone@evil.example', 'EMAIL someone@evil.example'],
    ['MAILTO:someone@evil.example?subject=hi', 'EMAIL someone@evil.example'],
    ['someone@münchen.example', 'EMAIL someone@xn--mnchen-3ya.example'],
    ['a b@evil.example', 'parse-error'],
    [CID_0, `IPFS ${CID}`],
    [CID, `IPFS ${CID}`],
    [CID.toUpperCase(), `IPFS ${CID}`],
    [`ipfs://${CID_0}`, `IPFS ${CID}`],
    [`ipfs://${CID}/index.html`, `IPFS ${CID}`],
    [`ipfs:${CID_0}`, `IPFS ${CID}`],
    [`https://ipfs.io/ipfs/${CID_0}`, `IPFS ${CID}`],
    [`https://ipfs.io/ipfs/${CID_0}/index.html?x=1`, `IPFS ${CID}`],
    [`https://${CID}.ipfs.dweb.link/`, `URL ${CID}.ipfs.dweb.link`],
    [`${CID_0.slice(0, -1)}0`, 'parse-error'],
  ],
  'texts that are not an asset': [
    ['', 'parse-error'],
    ['   ', 'parse-error'],
    ['\n\t', 'parse-error'],
    ['hello', 'parse-error'],
    ['hello world', 'parse-error'],
    ['see evil.example now', 'parse-error'],
    ['evil.example other.example', 'parse-error'],
    ['evil .example', 'parse-error'],
    ['evil..example', 'parse-error'],
    ['.evil.example', 'parse-error'],
    ['.', 'parse-error'],
    ['..', 'parse-error'],
    ['/', 'parse-error'],
    ['//', 'parse-error'],
    ['http://', 'parse-error'],
    ['https:///', 'parse-error'],
    ['?', 'parse-error'],
    ['#', 'parse-error'],
    ['com', 'parse-error'],
    ['evil.example:99999', 'parse-error'],
    ['evil.example:port', 'parse-error'],
    ['<script>alert(1)</script>', 'parse-error'],
    ['ev!il.example', 'parse-error'],
    ['ev|il.example', 'parse-error'],
    ['ev^il.example', 'parse-error'],
    ['evil.exam ple', 'parse-error'],
    ['ev\u0000il.example', 'parse-error'],
    ['\uD800.example', 'parse-error'],
    [`${'a'.repeat(64)}.example`, 'parse-error'],
    [`${'a.'.repeat(124)}example`, 'parse-error'],
    ['a.'.repeat(2_000), 'parse-error'],
    ['tel:+15551234567', 'parse-error'],
    ['__proto__', 'parse-error'],
    ['constructor', 'parse-error'],
  ],
};

describe('parseContent', () => {
  for (const [kind, cases] of Object.entries(CASES))
    describe(`for ${kind}`, () => {
      it.each(cases.map(([content, reading]) => ({ content, reading })))('parses $content as $reading', (one) => {
        expect(readingOf(one.content)).toBe(one.reading);
      });
    });

  it('distinguishes a page from its host, so that a listed page is found', () => {
    expect(parseContent('https://evil.example/a/../b/%7Euser/?x#y').parsed?.keys).toEqual([
      'PAGE:evil.example/b/~user',
      'URL:evil.example',
    ]);
    expect(parseContent(`https://gateway.example/ipfs/${CID_0}`).parsed?.keys).toEqual([
      `PAGE:gateway.example/ipfs/${CID_0}`,
      'URL:gateway.example',
    ]);
    expect(parseContent(`https://gateway.example/ipfs/${CID_0}`).parsed?.blockingKeys).toEqual([`IPFS:${CID}`]);
    expect(parseContent(`https://ipfs.io/ipfs/${CID_0}`).parsed?.keys).toContain(`IPFS:${CID}`);
  });

  it('uses the CID in the host of an IPFS link, otherwise the first CID in the path, and no deeper CID', () => {
    const OTHER = 'bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi';
    const cidsOf = (content: string): string[] => {
      const { keys, blockingKeys = [] } = parseContent(content).parsed!;
      return [...keys, ...blockingKeys].flatMap((key) => (key.startsWith('IPFS:') ? [key.slice('IPFS:'.length)] : []));
    };
    for (const [content, cids] of [
      [`https://ipfs.io/ipfs/${CID}/ipfs/${OTHER}/index.html`, [CID]],
      [`https://gw.example/ipfs/${CID}/ipfs/${OTHER}`, [CID]],
      [`https://gw.example//ipfs//${CID}`, [CID]],
      [`https://gw.example/ipns/${CID}/x`, [CID]],
      [`https://gw.example/x/ipfs/${OTHER}`, []],
      [`https://gw.example/ipfs/x/ipfs/${OTHER}`, []],
      [`https://gw.example/?/ipfs/${OTHER}`, []],
      [`https://${CID}.w3s.link/ipfs/${OTHER}`, [CID]],
      // A CID of 73 characters is longer than a DNS label.
      [`https://f01701220${'0'.repeat(64)}.gw.example/`, []],
      [`https://${CID}.ipfs.dweb.link/ipfs/${OTHER}`, [CID]],
      [`https://${OTHER}.ipfs.dweb.link@gw.example/ipfs/${CID}`, [CID]],
      [`ipfs://${CID}/ipfs/${OTHER}`, [CID]],
    ] as const) {
      expect({ content, cids: cidsOf(content) }).toEqual({ content, cids });
      const key = assetKey({ type: 'IPFS', content });
      expect({ content, key }).toEqual({ content, key: `IPFS:${cids[0] ?? content}` });
    }
    expect(assetKey({ type: 'IPFS', content: `ipfs://name.eth/ipfs/${OTHER}` })).toBe(
      `IPFS:ipfs://name.eth/ipfs/${OTHER}`,
    );
  });

  it('finds the same host regardless of case, scheme, user, port, path, trailing dot and Unicode form', () => {
    const label = fc
      .array(fc.constantFrom(...Array.from('abcxyz019-äöüфжñ例')), { minLength: 1, maxLength: 12 })
      .map((characters) => characters.join(''))
      .filter((text) => !text.startsWith('-') && !text.endsWith('-') && !text.includes('--'));
    const host = fc
      .array(label, { minLength: 1, maxLength: 4 })
      .map((labels) => `${labels.join('.')}.example`)
      .filter((text) => URL.canParse(`http://${text}`));
    const written = fc.record({
      scheme: fc.constantFrom('', 'http://', 'https://', 'HTTPS://', 'ftp://', '//', 'hxxps://', 'https:\\\\'),
      user: fc.constantFrom('', 'user@', 'user:secret@', 'good.example:x@'),
      port: fc.constantFrom('', ':80', ':8443', ':'),
      rest: fc.constantFrom('', '/', '/path', '/a/b?q=1#f', '?x', '#x', '/%2e%2e/x', '/a@b'),
      dot: fc.constantFrom('', '.', '。'),
      form: fc.constantFrom<'asis' | 'upper' | 'punycode' | 'decomposed' | 'full' | 'defanged' | 'percent'>(
        'asis',
        'upper',
        'punycode',
        'decomposed',
        'full',
        'defanged',
        'percent',
      ),
    });
    const forms = {
      asis: (text: string) => text,
      upper: (text: string) => text.toUpperCase(),
      punycode: (text: string) => new URL(`http://${text}`).hostname,
      decomposed: (text: string) => text.normalize('NFD'),
      full: (text: string) => text.replace(/[a-z]/g, (c) => String.fromCharCode(c.charCodeAt(0) + 0xfee0)),
      defanged: (text: string) => text.replaceAll('.', '[.]'),
      percent: (text: string) => encodeURIComponent(text),
    };
    fc.assert(
      fc.property(host, written, (plain, { scheme, user, port, rest, dot, form }) => {
        const content = `${scheme}${user}${forms[form](plain)}${dot}${port}${rest}`;
        // "user@host" alone is an e-mail address.
        fc.pre(!(user === 'user@' && scheme === '' && port === '' && !rest.startsWith('/')));
        const { parsed } = parseContent(content);
        expect({ content, host: parsed?.host, type: parsed?.type }).toEqual({
          content,
          host: new URL(`http://${plain}`).hostname,
          type: 'URL',
        });
        expect(assetKey({ type: 'URL', content })).toBe(`URL:${new URL(`http://${plain}`).hostname}`);
      }),
      { numRuns: sized(300, 1_500), seed: 6 },
    );
  });

  it('agrees with the URL parser of Node on every host that takes the fast path', () => {
    const host = fc.stringMatching(/^[a-z0-9_-]{1,8}(\.[a-z0-9_-]{1,8}){1,3}$/);
    fc.assert(
      fc.property(host, (text) => {
        const { parsed } = parseContent(text);
        if (parsed === undefined) return;
        expect(parsed.host).toBe(new URL(`http://${text}`).hostname);
      }),
      { numRuns: sized(300, 1_500), seed: 7 },
    );
  });

  it('never throws for any content', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.webUrl(), fc.emailAddress(), fc.ipV6()), (content) => {
        parseContent(content);
        for (const type of ['URL', 'ADDRESS', 'EMAIL', 'IPFS', 'NEW'])
          expect(assetKey({ type, content }).startsWith(`${type}:`)).toBe(true);
        for (const type of ['PAGE', 'TWITTER', 'YOUTUBE', 'REDDIT'])
          expect(assetKey({ type, content })).toMatch(/^[A-Z_]+:/);
      }),
      { numRuns: sized(100, 500), seed: 8 },
    );
  });
});

describe('assetKey', () => {
  const SAME: readonly (readonly [type: string, contents: readonly string[]])[] = [
    ['URL', ['evil.example', 'https://Evil.example/x', 'hxxps://evil[.]example.:80?q', 'u:p@EVIL.example']],
    [
      'PAGE',
      [
        'medium.com/@Evil',
        'https://Medium.com/@Evil/?utm_source=x#y',
        'https://medium.com/a/../@Evil',
        'medium.com/%40Evil',
      ],
    ],
    ['ADDRESS', [EVM, EVM.toUpperCase(), ` ethereum:${EVM}`, `eip155:1:${EVM}`, `base:${EVM}`]],
    ['ADDRESS', [CASH, CASH.toUpperCase(), CASH.slice('bitcoincash:'.length)]],
    [
      'ADDRESS',
      ['15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5', '5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY'],
    ],
    ['TWITTER', ['evil', '@Evil', 'x.com/evil', 'https://twitter.com/EVIL/status/1', 'hxxps://x[.]com/evil']],
    ['TELEGRAM', ['evil', '@Evil', 't.me/evil', 'tg://resolve?domain=Evil', 'https://telegram.me/evil/5', 'Evil.t.me']],
    ['TELEGRAM', ['+AbCdEfGh', 'https://t.me/+AbCdEfGh', 't.me/joinchat/AbCdEfGh']],
    ['PAGE', ['x.com/Evil', 'https://mobile.twitter.com/EVIL?lang=de', 'twitter://user?screen_name=evil']],
    ['PAGE', ['t.me/Evil', 'https://t.me/s/evil', 'https://telegram.me/EVIL']],
    ['PAGE', ['t.me/Evil/5', 'https://t.me/s/evil/5', 'https://t.me/EVIL/5?single', 'tg://resolve?domain=Evil&post=5']],
    ['PAGE', ['t.me/c/123/5', 'tg://privatepost?channel=123&post=5']],
    ['PAGE', ['t.me/share/url?url=a.example&text=1', 'https://t.me/share?url=a.example']],
    ['PAGE', ['bsky.app/profile/Evil.example/post/3k', 'https://bsky.app/profile/evil.example/post/3k?ref=x']],
    ['PAGE', ['bsky.app/profile/evil.example/feed/a', 'https://bsky.app/profile/EVIL.example/feed/a']],
    [
      'PAGE',
      [
        `opensea.io/item/ethereum/${EVM}/7`,
        `https://opensea.io/assets/ethereum/0x${EVM.slice(2).toUpperCase()}/7`,
        `https://opensea.io/assets/${EVM}/7`,
        `https://opensea.io/de-DE/assets/${EVM}/7`,
      ],
    ],
    ['YOUTUBE', ['@Evil', 'evil', 'https://youtube.com/@EVIL']],
    ['REDDIT', ['u/evil', '/u/Evil', 'user/evil', 'https://reddit.com/user/evil']],
    ['WHATSAPP', ['+1 555 123-4567', 'https://wa.me/15551234567']],
    ['EMAIL', ['A@Evil.example', 'mailto:a@evil.example', 'a[at]evil[.]example']],
    ['IPFS', [CID_0, CID, `ipfs://${CID_0}/x`, `https://ipfs.io/ipfs/${CID_0}`, `https://${CID}.ipfs.dweb.link/x`]],
    ['APPLE_APP_STORE', ['1234567890', 'id1234567890', 'https://apps.apple.com/app/x/id1234567890']],
    ['NEW_KIND', ['As it is', '  As it is ']],
  ];

  it.each(SAME.map(([type, contents]) => ({ type, contents })))(
    'returns one key for $type $contents',
    ({ type, contents }) => {
      expect(new Set(contents.map((content) => assetKey({ type, content }))).size).toBe(1);
      expect(new Set(contents.map((content) => assetHash({ type, content }))).size).toBe(1);
    },
  );

  it('returns different keys for different assets', () => {
    const different = [
      { type: 'URL', content: 'evil.example' },
      { type: 'URL', content: 'www.evil.example' },
      { type: 'PAGE', content: 'evil.example/a' },
      { type: 'PAGE', content: 'evil.example/A' },
      { type: 'TWITTER', content: 'evil' },
      { type: 'TELEGRAM', content: 'evil' },
      { type: 'TELEGRAM', content: '+AbCdEfGh' },
      { type: 'TELEGRAM', content: '+abcdefgh' },
      { type: 'GITHUB', content: 'evil' },
      { type: 'GITHUB', content: 'https://github.com/evil/drainer' },
      { type: 'ADDRESS', content: 'So11111111111111111111111111111111111111112' },
      { type: 'ADDRESS', content: 'so11111111111111111111111111111111111111112' },
      { type: 'NEW_KIND', content: 'evil' },
      { type: 'NEW_KIND', content: 'Evil' },
    ];
    expect(new Set(different.map(assetKey)).size).toBe(different.length);
    expect(new Set(different.map(assetHash)).size).toBe(different.length);
  });

  it('returns the key of the host for a page without a path, and the key of the profile for the link of a profile', () => {
    expect(assetKey({ type: 'PAGE', content: 'https://evil.example/' })).toBe('URL:evil.example');
    for (const [type, content] of [
      ['TWITTER', 'https://x.com/Evil'],
      ['TELEGRAM', 't.me/+AbCdEfGh'],
      ['GITHUB', 'https://github.com/Evil/Drainer'],
      ['PAGE', 'https://sites.google.com/view/Evil'],
      // A type that does not fit, and a profile that is reported as a page.
      ['TWITTER', 'https://x.com/i/lists/123'],
      ['TELEGRAM', 'https://evil.example/login'],
      ['FACEBOOK', 'https://www.instagram.com/Evil/'],
      ['PAGE', 'x.com/Evil'],
      ['ADDRESS', EVM],
      ['EMAIL', 'a@evil.example'],
      ['URL', '[2606:4700::1]'],
    ] as const)
      expect(parseContent(content).parsed!.keys).toContain(assetKey({ type, content }));
  });

  it('returns the pinned keys, because stream names are derived from the keys', () => {
    const pinned = JSON.parse(readFileSync(join(import.meta.dirname, 'pinned-keys.json'), 'utf8')) as string[][];
    expect(pinned.length).toBeGreaterThan(500);
    const changed = pinned.filter(([type, content, key]) => assetKey({ type: type!, content: content! }) !== key);
    expect(changed).toEqual([]);
  });

  it('returns the same key for an asset with the type and the content of a key, or that of the profile', () => {
    const again = (key: string): string => {
      const colon = key.indexOf(':');
      return assetKey({ type: key.slice(0, colon), content: key.slice(colon + 1) });
    };
    const pinned = JSON.parse(readFileSync(join(import.meta.dirname, 'pinned-keys.json'), 'utf8')) as string[][];
    const keys = pinned.map(([, , key]) => key!);
    expect(keys.map(again)).toEqual(keys);
    const read = linkForms()
      .map(({ form }) => parseContent(form).parsed)
      .filter((parsed) => parsed !== undefined);
    expect(read.flatMap((parsed) => parsed.keys).length).toBeGreaterThan(300);
    for (const { keys: found, blockingKeys = [] } of read)
      for (const key of found) expect([key, ...blockingKeys, ...found.slice(1)]).toContain(again(key));
  });

  it('is hashed to 32 hexadecimal digits', () => {
    expect(assetHash({ type: 'URL', content: 'evil.example' })).toBe('efa91fa60f4bafe1d052138cda7d3aa6');
  });
});
