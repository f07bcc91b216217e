import { describe, expect, it } from '@jest/globals';
import { bech32, base58xmr } from '@scure/base';
import { checkerOf, type OwnStatus, type TestList } from './checker-of.js';

const CID = 'bafybeie5nqv6kd3qnfjupgvz34woh3oksc3iau6abmyajn7qvtf47pxkue';
const TOKEN = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48';
const EVIL = '0x00000000000000000000000000000000000000e1';
const GOOD_ACCOUNT = '0x00000000000000000000000000000000000000a1';
const BTC = 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4';
const OTHER_BTC = '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa';
const SOL = 'So11111111111111111111111111111111111111112';
const EVIL_SOL = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const encoded = encodeURIComponent;
const base64url = (text: string): string => Buffer.from(text).toString('base64url');
const lnurl = bech32.encode('lnurl', bech32.toWords(Buffer.from('https://evil.example/p')), false);

const OWN: readonly OwnStatus[] = [
  'BLOCKED URL evil.example',
  'BLOCKED URL evil-a.example',
  'BLOCKED URL xn--80ak6aa92e.com',
  'BLOCKED URL evil.eth',
  'BLOCKED URL [2606:4700::1]',
  'BLOCKED URL 93.184.215.14',
  `BLOCKED ADDRESS ${EVIL}`,
  `BLOCKED ADDRESS ${BTC}`,
  `BLOCKED ADDRESS ${EVIL_SOL}`,
  'BLOCKED TELEGRAM evil_x',
  'BLOCKED EMAIL x@evil-mail.example',
  'BLOCKED GOOGLE_APP_STORE com.evil.app',
  'BLOCKED PAGE maps.app.goo.gl/EVILcode',
  'BLOCKED PAGE x.onelink.me/EVILcode',
  'BLOCKED PAGE jianshu.com/p/EVILcode',
  'BLOCKED FARCASTER evil',
  'BLOCKED PAGE docs.google.com/forms/d/e/EVIL',
  'BLOCKED GITHUB evil/repo',
  'BLOCKED URL web.de',
  'ALLOWED URL good.example',
  'ALLOWED URL paypal.com',
  `ALLOWED IPFS ${CID}`,
  `ALLOWED ADDRESS ${TOKEN}`,
  `ALLOWED ADDRESS ${GOOD_ACCOUNT}`,
  `ALLOWED ADDRESS ${OTHER_BTC}`,
  `ALLOWED ADDRESS ${SOL}`,
  ...['TWITTER', 'TIKTOK', 'INSTAGRAM', 'THREADS', 'MEDIUM', 'FARCASTER', 'TELEGRAM'].map(
    (type): OwnStatus => `ALLOWED ${type} good`,
  ),
  'ALLOWED REDDIT r/good',
  'ALLOWED FACEBOOK goodpage',
  'ALLOWED GITHUB good/repo',
  'ALLOWED GOOGLE_APP_STORE com.good.app',
];

describe('A content that may open something BLOCKED is BLOCKED', () => {
  it.each([
    // Content below a host that is no known gateway.
    `https://evil.example/ipfs/${CID}/claim/index.html`,
    `https://evil.example/ipns/${CID}`,
    `https://${CID}.ipfs.evil.example/`,
    `https://${CID}.evil.example/`,
    `metamask.app.link/dapp/evil.example/ipfs/${CID}`,
    // Candidates that a URL parser reads.
    'https://link.trustwallet.com/open_url?url=%09evil.example&url=https://good.example',
    'https://link.trustwallet.com/open_url?url=%0aevil.example&url=https://good.example',
    'https://link.trustwallet.com/open_url?url=%20evil.example&url=https://good.example',
    'https://link.trustwallet.com/open_url?url=https:%09//evil.example&url=https://good.example',
    'https://link.trustwallet.com/open_url?url=ev%09il.example&url=https://good.example',
    'https://link.trustwallet.com/open_url?url=https://ev%0dil.example&url=https://good.example',
    'https://link.trustwallet.com/open_url?url=[2606:4700::1]&url=https://good.example',
    'https://link.trustwallet.com/open_url?url=https://[2606:4700::1]&url=https://good.example',
    'https://link.trustwallet.com/open_url?url=trust://open_url?url=trust://open_url%3furl=evil.example&url=https://good.example',
    'https://good.example%2f@[2606:4700::1]',
    'https://good.example%2fclaim%3fid=1@[2606:4700::1]',
    ' https://metamask.app.link/dapp/[2606:4700::1]',
    'https://metamask.app.link/dapp/[2606:4700::1] ',
    // Intents.
    'intent://good.example/#x#Intent;scheme=https;package=no.such;S.browser_fallback_url=https%3A%2F%2Fevil.example%2F;end',
    // Markup.
    '[![logo](https://good.example/logo.png)](https://evil.example/claim)',
    '[see ![logo](https://good.example/logo.png) here](https://evil.example/claim)',
    '[a `](https://good.example/)` b](https://evil.example/)',
    String.raw`[a \](https://good.example/) b](https://evil.example/)`,
    '<a data-href="https://good.example/" href="https://evil.example/">',
    '<a title="href=https://good.example/" href="https://evil.example/">',
    '<a x:href="https://good.example/" href="https://evil.example/">',
    '<a href="https://evil.exa&#109;ple/">',
    '<a href="https&colon;//evil.example/">',
    'https://good.example/ https://evil.example/',
    'https://good.example/\nhttps://evil.example/',
    // Payments.
    `ethereum:${TOKEN}@1/transfer?address=evil.eth&uint256=1`,
    `ethereum:${TOKEN}@1/transfer?address=eth:${EVIL}`,
    `ethereum:${TOKEN}@1/transfer?address=${EVIL.slice(2)}`,
    `ethereum:${TOKEN}@1/transfer?ADDRESS=${EVIL}`,
    `ethereum:${TOKEN}@1/permit?address=${EVIL}`,
    `ethereum:${EVIL}@1/transfer?address=${GOOD_ACCOUNT}`,
    `ethereum:${EVIL}@1/transfer?address=${GOOD_ACCOUNT}&value=1`,
    'ethereum:evil.eth',
    'ethereum:pay-evil.eth@1?value=1',
    `solana:${SOL}?spl-token=${EVIL_SOL}`,
    `https://metamask.app.link/send/${EVIL}@1?value=1e18`,
    `https://metamask.app.link/send/${TOKEN}@1/transfer?address=${EVIL}&uint256=1`,
    `https://link.trustwallet.com/send?address=${EVIL}&asset=c60`,
    `bitcoin:?bc=${BTC}`,
    `bitcoin:${OTHER_BTC}?bc=${BTC}`,
    `BITCOIN:?BC=${BTC.toUpperCase()}`,
    `bitcoin:${BTC}?lightning=lnbc1`,
    // Profiles.
    'https://play.google.com/store/apps/details?ID=com.good.app&id=com.evil.app',
    'https://play.google.com/store/apps/details?id=com.good.app&id=com.evil.app',
    'https://market.android.com/details?id=com.evil.app',
    'https://web.telegram.org/#/im?p=@evil_x',
    'https://web.telegram.org/k/#@evil_x',
    'https://web.telegram.org/k/#?tgaddr=tg%3A%2F%2Fresolve%3Fdomain%3Devil_x',
    'https://web.telegram.org/a/#?tgaddr=tg%3A%2F%2Fresolve%3Fdomain%3Devil_x',
    // Carriers.
    `https://nam02.safelinks.protection.outlook.com/?url=${encoded('https://evil.example/login')}&data=05%7C02&reserved=0`,
    `https://eur01.safelinks.protection.outlook.com/ap/t-59584e83/?url=${encoded('https://evil.example')}`,
    'https://urldefense.com/v3/__https://evil.example/login__;!!AbC!xyz$',
    `https://urldefense.com/v3/__https://evil.example/a*b__;${Buffer.from('?').toString('base64url')}!!AbC!xyz$`,
    'https://urldefense.proofpoint.com/v2/url?u=https-3A__evil.example_login&d=x',
    `https://urldefense.proofpoint.com/v1/url?u=${encoded('https://evil.example')}&k=1`,
    `https://linkprotect.cudasvc.com/url?a=${encoded('https://evil.example')}&c=E`,
    `https://linkprotect.cudasvc.com/?a=${encoded('https://evil.example')}&c=E`,
    `https://scanmail.trustwave.com/?c=4062&d=x&u=${encoded('https://evil.example/login')}`,
    `https://urlsand.esvalabs.com/?u=${encoded('https://evil.example')}&e=1`,
    'https://safe.menlosecurity.com/https://evil.example/login',
    `https://shared.fortimailcloud.com/fmlurlsvc/?fewReq=:B:x&url=${encoded('https://evil.example')}`,
    `https://outlook.office.com/owa/redir.aspx?C=a&URL=${encoded('https://evil.example')}`,
    `https://deref-gmx.net/mail/client/AbC-1/dereferrer/?redirectUrl=${encoded('https://evil.example')}`,
    `https://deref-web.de/mail/client/dereferrer/?redirectUrl=${encoded('https://evil.example')}&lang=de`,
    `https://abc.r.us-east-1.awstrack.me/L0/${encoded('https://evil.example/login')}/1/0100018a-000000/AbC=380`,
    'https://click.pstmrk.it/3s/evil.example%2Flogin/AbC/xyz',
    'https://mandrillapp.com/track/click/30000000/evil.example?p=eyJzIjoiIn0',
    `https://link.naver.com/bridge?url=${encoded('https://evil.example')}`,
    `https://cr.naver.com/redirect-notification?u=${encoded('https://evil.example')}`,
    `https://yandex.ru/turbo?text=${encoded('https://evil.example/x')}`,
    `https://secure-web.cisco.com/1AbC/${encoded('https://evil.example/x')}`,
    `https://eu.protection.sophos.com/?d=evil.example&u=${base64url('https://evil.example/x')}&i=1`,
    'https://protect-eu.mimecast.com/s/AbC?domain=evil.example',
    'https://protect.checkpoint.com/v2/___https://evil.example/x___.YzJl',
    'https://url.avanan.click/v2/r01/___https://evil.example/x___.YXAz',
    `https://www.google.com/url?q=${encoded('https://evil.example/')}&sa=D`,
    `https://www.google.co.uk/url?sa=t&url=${encoded('https://evil.example/')}`,
    'https://www.google.com/amp/s/evil.example/x',
    `https://translate.google.com/translate?sl=auto&tl=en&u=${encoded('https://evil.example')}`,
    'https://evil--a-example.translate.goog/x?_x_tr_sl=auto',
    'https://evil--a-example.translate.goog',
    'https://0-80ak6aa92e-com.translate.goog/?_x_tr_sl=auto&_x_tr_enc=0',
    'https://a-example.translate.goog/?_x_tr_hp=evil--',
    'https://translated.turbopages.org/proxy_u/en-ru.ru.a10e9b55-671a61ab/https/evil.example/x?y=1',
    'https://evil-example.cdn.ampproject.org/c/s/evil.example/x',
    'https://cdn.ampproject.org/c/s/evil.example',
    'https://adclick.g.doubleclick.net/pcs/click?xai=x&adurl=https://evil.example',
    `https://l.facebook.com/l.php?u=${encoded('https://evil.example/')}&h=AT0`,
    `https://l.instagram.com/?u=${encoded('https://evil.example/')}&e=1`,
    `https://www.youtube.com/redirect?event=video_description&q=${encoded('https://evil.example')}`,
    `https://steamcommunity.com/linkfilter/?u=${encoded('https://evil.example')}`,
    'https://steamcommunity.com/linkfilter/https://evil.example',
    `https://www.linkedin.com/redir/redirect?url=${encoded('https://evil.example')}`,
    `https://t.me/iv?url=${encoded('https://evil.example')}&rhash=1`,
    `https://slack-redir.net/link?url=${encoded('https://evil.example')}`,
    `https://vk.com/away.php?to=${encoded('https://evil.example')}`,
    `https://out.reddit.com/t3_x?url=${encoded('https://evil.example')}`,
    `https://duckduckgo.com/l/?uddg=${encoded('https://evil.example')}`,
    `https://www.bing.com/ck/a?!&&p=abc&u=a1${base64url('https://evil.example/')}&ntb=1`,
    `https://r.search.yahoo.com/_ylt=A/RV=2/RE=1/RO=10/RU=${encoded('https://evil.example/')}/RK=2/RS=x`,
    'https://href.li/?https://evil.example',
    `tpdapp://open?params=${encoded('{"url":"https://evil.example"}')}`,
    `tc://?v=2&id=1&r=${encoded('{"manifestUrl":"https://evil.example/m.json","items":[]}')}`,
    `some-wallet://open?data=${encoded('{"link":"https://evil.example/x"}')}`,
    'https://phantom.app/ul/browse/evil.example%3Fid%3D1',
    'https://metamask.app.link/dapp/evil.example%23x',
    'https://metamask.app.link/dapp/1572394766',
    lnurl,
    lnurl.toUpperCase(),
    `lightning:${lnurl.toUpperCase()}`,
    'lnurlw:evil.example',
    'lnurlp://evil.example/pay',
    // The end of copied text.
    ...[',', ')', '"', "'", ';', '!', '»', '”', '、', '*', '`', '&nbsp;', '**'].map(
      (end) => `https://evil.example${end}`,
    ),
    'http://93.184.215.14,',
    ...[
      // Mail gateways.
      'nam.safelink.emails.azure.net/redirect/?p=x&destination=',
      'linklock.titanhq.com/analyse?data=x&url=',
      'avanan.url-protection.com/v1/url?g=1&o=',
      'link.edgepilot.com/s/x/y?u=',
      'link.getmailspring.com/link/x/0?redirect=',
      'click.redditmail.com/CL0/',
      // Search, translation and advertisements.
      'maps.google.com/url?q=',
      'www.google.com/local_url?q=',
      'translate.google.de/translate?u=',
      'html.duckduckgo.com/l/?uddg=',
      'search.yahoo.com/r/_ylt=x/RU=',
      'yandex.com.tr/clck/jsredir?url=',
      'www.bing.com/newtabredir?url=',
      '12ft.io/',
      'ad.doubleclick.net/ddm/clk/1;2?',
      'www.jdoqocy.com/click-1-2?url=',
      'prf.hn/click/camref:1/destination:',
      'x.pxf.io/c/1/2/3?u=',
      'rover.ebay.com/rover/1/2/1?mpre=',
      // Social networks and links to apps.
      'www.instagram.com/linkshim/?u=',
      'music.youtube.com/redirect?q=',
      'de.linkedin.com/redir/suspicious-page?url=',
      'www.tiktok.com/link/v2?target=',
      'mobile.twitter.com/i/redirect?url=',
      'www.pinterest.co.uk/offsite/?url=',
      'vk.ru/away.php?to=',
      'c.pc.qq.com/ios.html?url=',
      'leetcode.cn/link/?target=',
      'x.page.link/?apn=a&link=',
      'x.app.link/a?$fallback_url=',
      'x.onelink.me/1?af_web_dp=',
      'app.adjust.com/x?redirect=',
      'aw.app/',
    ].map((carrier) => `https://${carrier}${encoded('https://evil.example/x')}`),
    `fb://facewebmodal/f?href=${encoded('https://evil.example')}`,
    `tg://iv?url=${encoded('https://evil.example')}`,
    `tpdapp://open?params=${encoded('{"url":"evil.example"}')}`,
    'ms-word:ofe|u|https://evil.example/x.docx',
    `intent:#Intent;scheme=https;S.url=${encoded('https://evil.example')};end`,
    `lnurl:${lnurl}`,
    'https://metamask.app.link/dapp/good.example%2f@evil.example',
    // Links and accounts in the parameters of payments.
    `bitcoin:${OTHER_BTC}?pj=${encoded('https://evil.example/')}`,
    `bitcoin:${OTHER_BTC}?r=${encoded('https://evil.example/')}`,
    `bitcoin:${OTHER_BTC}?lightning=${lnurl}`,
    `zcash:${OTHER_BTC}?address.1=${BTC}`,
    `zcash:?address=${OTHER_BTC}&address.1=${BTC}`,
    `web+stellar:tx?xdr=AAAA&callback=${encoded('url:https://evil.example')}`,
    `ethereum:add-${EVIL}`,
    `ethereum:${GOOD_ACCOUNT}?to=${EVIL}`,
    `ethereum:${TOKEN}@1/transfer/?address=${EVIL}`,
    `ethereum:${TOKEN}@1/transfer?to=${EVIL}`,
    `ethereum:${TOKEN}@1/batchTransfer?address[]=${GOOD_ACCOUNT},${EVIL}`,
    `base:${EVIL}?value=1`,
    `solana:${SOL}?recipient=${EVIL_SOL}`,
    // More markup.
    '[url=https://good.example]a[/url][url=https://evil.example]b[/url]',
    `<a href="https://good.example" onclick="location='https://evil.example'">`,
    '1. [good](https://evil.example)',
    '<https://evil.example/|text>',
    '<https://play.google.com/store/apps/details?id=com.evil.app|text>',
    'https://play.google.com/store/apps/details?id=com.evil.app https://unknown.example',
    // Mail.
    'mailto:x@evil-mail.example,y@good.example',
    'mailto:y@good.example,x@evil-mail.example',
    'mailto:x%40evil-mail.example',
    'mailto:?to=x@evil-mail.example',
    'mailto:y@good.example?cc=x@evil-mail.example',
    // Carriers that have pages of their own.
    'https://maps.app.goo.gl/EVILcode?link=https://good.example',
    'https://x.onelink.me/EVILcode?af_dp=https://good.example',
    'https://jianshu.com/p/EVILcode?t=https://good.example',
    'https://farcaster.xyz/evil?launchFrameUrl=https://good.example',
    'https://farcaster.xyz/unknown?launchFrameUrl=https://evil.example',
    'https://web.telegram.org/k/#@evil_x?tgaddr=tg%3A%2F%2Fresolve%3Fdomain%3Dgood',
    'mailto:x@evil-mail.example;y@good.example',
    'mailto:y@good.example;x@evil-mail.example',
    'mailto:x%40evil-mail.example%3By%40good.example',
    'mailto://x@evil-mail.example',
    'mailto:?to=y@good.example;x@evil-mail.example',
    'mailto:y@good.example?bcc=y@good.example,x@evil-mail.example',
    'mailto:y@good.example?cc=z+1@evil.example',
    'xmpp:x@evil-mail.example;y@good.example',
    'xmpp:y@good.example,x@evil-mail.example',
    'unknown:x@evil-mail.example;y@good.example',
    'unknown://x@evil-mail.example;y@good.example',
    'x@evil-mail.example;y@good.example',
    'y@good.example, x@evil-mail.example',
    'y@good.example x@evil-mail.example',
    'x@evil-mail.example,y@good.example/a',
    'x@evil-mail.example; Jane <y@good.example>',
    'other,x@evil-mail.example',
    'mailto:other,x@evil-mail.example',
    'mailto:%22other,x@evil-mail.example',
    // Links whose user has the sign between mailboxes.
    'ftp://user,a@docs.google.com/forms/d/e/EVIL/viewform',
    'ssh://x;a@github.com/evil/repo',
    'tg://x,y@t.me/evil_x',
    'unknown:x;a@evil.example/path',
    'wss://x,a@web.de/',
    'git@github.com,x@github.com/evil/repo',
  ])('%s', async (content) => {
    const { status } = (await checkerOf(OWN))(content);
    expect(status).toBe('BLOCKED');
  });
});

describe('A content that is not understood, or opens what others may have published, is never ALLOWED', () => {
  it.each([
    `http://93.184.215.34/ipfs/${CID}/`,
    `https://unknown.example/ipfs/${CID}`,
    'https://x.com/good/status/1789',
    'https://www.tiktok.com/@good/video/123',
    'https://www.reddit.com/r/good/comments/1abc/',
    'https://www.instagram.com/good/p/CODE/',
    'https://www.threads.net/@good/post/CODE',
    'https://www.facebook.com/good.page/videos/123',
    'https://medium.com/@good/x-0123456789ab',
    'https://warpcast.com/good/0x0123abcd',
    'https://github.com/good/repo/files/123/x.zip',
    'https://github.com/good/repo/commit/0123abcd',
    'https://github.com/good/repo/issues/1',
    'https://raw.githubusercontent.com/good/repo/0123abcd/x.sh',
    'https://play.google.com/store/apps/details?ID=com.good.app',
    `ethereum:${TOKEN}@1/transfer?uint256=1`,
    `ethereum:${TOKEN}@1/transfer?address=unknown.eth`,
    `ethereum:${TOKEN}@1/transferWithAuthorization?address=${GOOD_ACCOUNT}`,
    `bitcoin:${OTHER_BTC}?lightning=lnbc1abc`,
    `bitcoin:${OTHER_BTC}?req-new=1`,
    `bitcoin:${OTHER_BTC}?pj=${encoded('https://unknown.example')}`,
    `zcash:${OTHER_BTC}?address.1=zs1abc`,
    `ethereum:${GOOD_ACCOUNT}?to=${EVIL.replace('e1', 'c1')}`,
    `ethereum:${GOOD_ACCOUNT}?data=0x1234`,
    // Parameters that no wallet opens: they cannot block.
    `ethereum:${GOOD_ACCOUNT}?data=${EVIL}`,
    `ethereum:${GOOD_ACCOUNT}@1?value=1&x=${EVIL}`,
    `https://metamask.app.link/send/${GOOD_ACCOUNT}@1?x=${EVIL}`,
    `https://metamask.app.link/send/${GOOD_ACCOUNT}@1?x=${encoded('https://evil.example')}`,
    'https://www.google.com/url?sa=D',
    'https://www.bing.com/ck/a?!&&p=abc',
    'https://protect-eu.mimecast.com/s/AbC?domain=good.example',
    `intent://good.example/#Intent;scheme=https;${'x=1;'.repeat(40)}S.browser_fallback_url=https%3A%2F%2Fevil.example;end`,
    `${'https://metamask.app.link/dapp/'.repeat(8)}good.example`,
    '[![logo](https://good.example/logo.png)](https://unknown.example/)',
    'https://good.example/ https://unknown.example/',
    'https://play.google.com/store/apps/details?id=5700313618786177705&id=com.good.app',
    'https://play.google.com/store/apps/details/EVIL/more?id=com.good.app',
    'https://maps.app.goo.gl/code?link=https://good.example',
    'https://x.app.link/code?$fallback_url=https://good.example',
    'https://farcaster.xyz/good?launchFrameUrl=https://good.example',
    'y@good.example;z@good.example',
    'y@good.example, z@good.example',
    'xmpp:y@good.example;z@good.example',
    'unknown:y@good.example;z@good.example',
    'mailto:y;z@good.example',
    'mailto:Doe%2C%20Jane%20%3Cy@good.example%3E,other',
    'https://web.telegram.org/#/im/more?tgaddr=tg%3A%2F%2Fresolve%3Fdomain%3Dgood',
    'ftp://user,y@good.example/path',
  ])('%s', async (content) => {
    expect((await checkerOf(OWN))(content)).toMatchObject({ status: 'UNKNOWN', reason: 'not-found' });
  });

  it('an invoice on the ALLOWED host of a payment service, unlike a place in a page of the host', async () => {
    const check = await checkerOf(OWN);
    expect(check('https://www.paypal.com/invoice/p/#INV2-UNKNOWN')).toMatchObject({
      status: 'UNKNOWN',
      reason: 'hosting-domain',
    });
    expect(check('https://www.paypal.com/legal#top').status).toBe('ALLOWED');
  });

  it('tells the reader why an allowed entry does not decide', async () => {
    const { message } = (await checkerOf(OWN))(`ethereum:${TOKEN}@1/permit?x=1`);
    expect(message).toContain('may open something else that could not be read');
  });

  it.each(['outlook.com', 'google.com', 'proofpoint.com'])('the list of allowed carriers with %s', async (text) => {
    const check = await checkerOf(OWN, [{ verdict: 'ALLOWED', text }]);
    for (const target of ['evil.example', 'unknown.example'])
      for (const carrier of [
        `https://nam02.safelinks.protection.outlook.com/?url=https%3A%2F%2F${target}`,
        `https://www.google.com/url?q=https%3A%2F%2F${target}`,
        `https://urldefense.proofpoint.com/v2/url?u=https-3A__${target}`,
      ])
        expect(check(carrier).status).toBe(target === 'evil.example' ? 'BLOCKED' : 'UNKNOWN');
  });
});

describe('A content is ALLOWED if all that it may open is understood and ALLOWED', () => {
  it.each([
    'https://good.example/a?b#c',
    `https://ipfs.io/ipfs/${CID}`,
    `ipfs://${CID}`,
    'https://x.com/good',
    'https://github.com/good/repo',
    'https://metamask.app.link/dapp/good.example/x',
    `https://www.google.com/url?q=${encoded('https://good.example/')}`,
    `https://link.trustwallet.com/send?address=${GOOD_ACCOUNT}&x=${EVIL}`,
    `ethereum:${GOOD_ACCOUNT}@1?value=1`,
    `ethereum:${TOKEN}@1/transfer?address=${GOOD_ACCOUNT}&uint256=1`,
    `ethereum:${TOKEN}@1/transfer?address=${GOOD_ACCOUNT}&value=1`,
    'https://x.page.link/?link=https://good.example&apn=a',
    'https://eur01.safelinks.protection.outlook.com/ap/t-59584e83/?url=https%3A%2F%2Fgood.example',
    'https://out.reddit.com/t3_x?url=https%3A%2F%2Fgood.example',
    ...[
      'clicktime.symantec.com/3WxxX7Vc?u=',
      'link.getmailspring.com/link/x@getmailspring.com/0?redirect=',
      'mailtrack.io/trace/link/x?url=',
      'link.edgepilot.com/s/x/y?u=',
      'app.adjust.com/x?redirect=',
      'linkprotect.cudasvc.com/x?a=',
      'scanmail.trustwave.com/x?u=',
      'l.instagram.com/x?u=',
      'exit.sc/x?url=',
      'link.zhihu.com/x?target=',
      'link.jianshu.com/x?t=',
      'tc.tradetracker.net/x?u=',
      'googleweblight.com/x?lite_url=',
    ].map((carrier) => `https://${carrier}${encoded('https://good.example')}`),
    'https://play.google.com/store/apps/details/Good_App?id=com.good.app&hl=en',
    'https://play.google.com/work/apps/details?id=com.good.app',
    'https://play.google.com/store/apps/datasafety?id=com.good.app',
    'https://web.telegram.org/#/im?tgaddr=tg%3A%2F%2Fresolve%3Fdomain%3Dgood',
    'https://web.telegram.org/#im?tgaddr=tg%3A%2F%2Fresolve%3Fdomain%3Dgood',
    '[good](https://good.example/)',
    'y@good.example',
    '"Doe, Jane" <y@good.example>',
    'mailto:y@good.example;z@good.example',
    'mailto:%22Doe%2C%20Jane%22%20%3Cy@good.example%3E',
    'mailto:Doe%2C%20Jane%20%3Cy@good.example%3E',
    'mailto:z@good.example?cc=%22Doe%3B%20Jane%22%20%3Cy@good.example%3E',
    'sip:y@good.example;transport=tcp',
    'intent://good.example/#Intent;scheme=https;S.browser_fallback_url=https%3A%2F%2Fgood.example%2F;end',
  ])('%s', async (content) => {
    expect((await checkerOf(OWN))(content).status).toBe('ALLOWED');
  });
});

describe('A content that opens nothing BLOCKED is not BLOCKED', () => {
  it.each([
    'https://unknown.example/?u=https%3A%2F%2Fevil.example',
    'https://www.google.com/search?q=https%3A%2F%2Fevil.example',
    'https://t.me/share/url?url=https%3A%2F%2Fevil.example',
    'https://unknown.example/ipfs',
    'https://unknown.example/url?q=https://evil.example',
  ])('%s', async (content) => {
    expect((await checkerOf(OWN))(content).status).toBe('UNKNOWN');
  });
});

describe('A reported page is BLOCKED in all its forms, and no other page', () => {
  const PAGES: readonly (readonly [page: string, same: readonly string[], other: readonly string[]])[] = [
    [
      'https://www.youtube.com/watch?v=EVIL',
      [
        'https://youtube.com/watch?t=1&v=EVIL',
        'https://m.youtube.com/watch?v=EVIL&utm_source=x',
        'youtu.be/EVIL',
        'https://www-youtube-com.translate.goog/watch?_x_tr_sl=auto&v=EVIL&_x_tr_tl=en',
        'https://a.r.us-east-1.awstrack.me/L0/https:%2F%2Fwww.youtube.com%2Fwatch%3Fv=EVIL/1/0100018a-0/AbC=380',
        'https://click.redditmail.com/CL0/https:%2F%2Fwww.youtube.com%2Fwatch%3Fv=EVIL/1/0100018a-0/AbC=380',
        'https://click.pstmrk.it/3s/www.youtube.com%2Fwatch%3Fv%3DEVIL/AbC/xyz',
      ],
      ['https://www.youtube.com/watch?v=GOOD', 'https://www.youtube.com/watch?v=evil', 'https://www.youtube.com/'],
    ],
    [
      'https://forms.office.com/Pages/ResponsePage.aspx?id=EVIL',
      ['https://forms.office.com/pages/responsepage.aspx?id=EVIL&route=shorturl'],
      ['https://forms.office.com/Pages/ResponsePage.aspx?id=GOOD', 'https://forms.office.com/'],
    ],
    [
      'https://drive.google.com/open?id=EVIL',
      ['https://drive.google.com/file/d/EVIL/view', 'https://drive.google.com/open?usp=x&id=EVIL'],
      ['https://drive.google.com/open?id=GOOD', 'https://drive.google.com/open'],
    ],
    [
      'https://www.facebook.com/permalink.php?story_fbid=1&id=2',
      ['https://m.facebook.com/story.php?id=2&story_fbid=1&fbclid=x'],
      ['https://www.facebook.com/permalink.php?story_fbid=3&id=4'],
    ],
    ['https://mega.nz/#!EVIL!key', ['https://www.mega.nz/#!EVIL!key'], ['https://mega.nz/', 'https://mega.nz/#!GOOD!key']],
    ['https://onedrive.live.com/?id=EVIL', ['https://onedrive.live.com/?id=EVIL&gclid=1'], ['https://onedrive.live.com/?id=GOOD', 'https://onedrive.live.com/other?id=EVIL', 'https://onedrive.live.com/']],
    ['https://www.mediafire.com/?evil', ['https://mediafire.com/?evil'], ['https://www.mediafire.com/']],
    ['https://notion.so/Evil-1', ['https://www.notion.so/Evil-1', 'https://notion.so//Evil-1/', 'https://notion.so/Evil-1.'], ['https://notion.so/Good-1']],
    ['https://www.dropbox.com/scl/fi/evil', ['https://dropbox.com/scl/fi/evil', 'https://dropbox.com/scl/fi/evil/x.pdf?dl=0'], ['https://dropbox.com/scl/fi/good']],
    ['linktr.ee/evil', ['www.linktr.ee/evil', 'linktr.ee/Evil', 'linktr.ee//evil', 'https://linktr.ee/evil.', 'https://linktr.ee/evil?x=1'], ['linktr.ee/good', 'linktr.ee']],
    ['https://canva.com/design/EVIL', ['https://www.canva.com/design/EVIL/view'], ['https://canva.com/design/GOOD']],
    ['https://figma.com/evil', ['https://www.figma.com/evil'], ['https://www.figma.com/good']],
    ['https://vk.com/evil', ['https://m.vk.com/evil', 'https://www.vk.com/evil'], ['https://vk.com/good']],
    ['https://sites.google.com/view/evil', ['https://sites.google.com/u/0/view/evil'], ['https://sites.google.com/view/good']],
    ['https://x.com/evil/status/1', ['https://twitter.com/anybody/status/1?s=20', 'https://x.com/i/web/status/1'], ['https://x.com/evil/status/2', 'https://x.com/evil']],
    ['https://www.facebook.com/share/g/EVIL/?mibextid=x', ['https://m.facebook.com/share/g/EVIL'], ['https://www.facebook.com/share/g/GOOD/', 'https://www.facebook.com/share/EVIL']],
    ['https://www.facebook.com/share/s/EVIL/', [], ['https://www.facebook.com/share/s/GOOD/']],
    ['https://www.facebook.com/events/s/evil-party/123/', ['https://www.facebook.com/events/123'], ['https://www.facebook.com/events/s/evil-party/124/']],
    ['https://www.instagram.com/reels/audio/1/', [], ['https://www.instagram.com/reels/audio/2/', 'https://www.instagram.com/p/audio/']],
    ['https://www.youtube.com/embed/live_stream?channel=EVIL', [], ['https://www.youtube.com/embed/live_stream?channel=GOOD']],
    ['https://docs.google.com/drawings/d/e/EVIL/pub?w=9', ['https://docs.google.com/drawings/u/0/d/e/EVIL/pub'], ['https://docs.google.com/drawings/d/e/GOOD/pub', 'https://docs.google.com/drawings/d/EVIL']],
    ['https://docs.google.com/a/x.example/document/d/e/EVIL/pub', ['https://docs.google.com/document/d/e/EVIL/pub'], ['https://docs.google.com/a/x.example/document/d/e/GOOD/pub']],
    ['https://www.dropbox.com/s/raw/EVIL/a.html', ['https://www.dropbox.com/s/EVIL/a.html?dl=0'], ['https://www.dropbox.com/s/raw/GOOD/a.html']],
    ['https://www.surveymonkey.com/r/Preview/?sm=EVIL', [], ['https://www.surveymonkey.com/r/Preview/?sm=GOOD', 'https://www.surveymonkey.com/r/GOOD']],
    ['https://www.pinterest.com/pin/create/button/?url=https%3A%2F%2Fevil.example', ['https://pinterest.de/pin/create/link/?url=https%3A%2F%2Fevil.example'], ['https://www.pinterest.com/pin/create/button/?url=https%3A%2F%2Fgood.example']],
    ['https://codesandbox.io/embed/github/evil/repo/tree/main', ['https://codesandbox.io/s/github/evil/repo/tree/main'], ['https://codesandbox.io/embed/github/good/repo/tree/main']],
    ['https://www.paypal.com/invoice/p/#INV2-EVIL', ['https://paypal.com/invoice/p#INV2-EVIL'], ['https://www.paypal.com/invoice/p/#INV2-GOOD', 'https://www.paypal.com/invoice/p/', 'https://www.paypal.com/signin#INV2-EVIL']],
    ['https://www.paypal.com/legal#top', ['https://www.paypal.com/legal', 'https://www.paypal.com/legal#end'], ['https://www.paypal.com/invoice/p/#INV2-GOOD']],
    ['https://www.facebook.com/sharer/sharer.php?u=https://evil.example', [], ['https://www.facebook.com/sharer/sharer.php?u=https://good.example']],
    ['https://vimeo.com/123', ['https://player.vimeo.com/video/123'], ['https://vimeo.com/124']],
    ['https://clips.twitch.tv/Evil', ['https://www.twitch.tv/x/clip/Evil'], ['https://clips.twitch.tv/Good', 'https://clips.twitch.tv/']],
    ['https://open.spotify.com/playlist/A', ['https://open.spotify.com/intl-de/playlist/A?si=x'], ['https://open.spotify.com/playlist/B']],
    ['https://www.google.com/maps/d/viewer?mid=EVIL', ['https://www.google.com/maps/d/u/0/viewer?mid=EVIL'], ['https://www.google.com/maps/d/viewer?mid=GOOD', 'https://www.google.com/']],
    ['https://www.paypal.com/donate/?hosted_button_id=EVIL', ['https://paypal.com/cgi-bin/webscr?cmd=x&hosted_button_id=EVIL'], ['https://www.paypal.com/donate/?hosted_button_id=GOOD', 'https://www.paypal.com/signin']],
    ['https://steamcommunity.com/sharedfiles/filedetails/?id=1', ['https://steamcommunity.com/workshop/filedetails/?id=1'], ['https://steamcommunity.com/sharedfiles/filedetails/?id=2', 'https://steamcommunity.com/']],
    ['https://news.ycombinator.com/item?id=1', ['https://news-ycombinator-com.translate.goog/item?_x_tr_sl=a&id=1&_x_tr_tl=b'], ['https://news.ycombinator.com/item?id=2', 'https://news.ycombinator.com/']],
    ['https://bitcointalk.org/index.php?topic=1.0', [], ['https://bitcointalk.org/index.php?topic=2.0']],
    ['https://onedrive.live.com/redir?resid=EVIL', ['https://onedrive.live.com/embed?cid=1&resid=EVIL&authkey=x', 'https://onedrive.live.com/view?resid=EVIL&authkey=a&id=1', 'https://onedrive.live.com/edit?resid=EVIL&id=1'], ['https://onedrive.live.com/redir?resid=GOOD']],
    ['https://app.powerbi.com/view?r=EVIL', [], ['https://app.powerbi.com/view?r=GOOD', 'https://app.powerbi.com/']],
    ['https://mp.weixin.qq.com/s?__biz=1&mid=2&idx=1', ['https://mp.weixin.qq.com/s?idx=1&__biz=1&mid=2&scene=1#rd'], ['https://mp.weixin.qq.com/s?__biz=1&mid=3&idx=1']],
    ['https://discord.com/oauth2/authorize?client_id=1', ['https://ptb.discord.com/api/oauth2/authorize?scope=bot&client_id=1'], ['https://discord.com/oauth2/authorize?client_id=2']],
    ['https://www.linkedin.com/feed/update/urn:li:activity:1', ['https://de.linkedin.com/feed/update/urn%3Ali%3Aactivity%3A1/'], ['https://www.linkedin.com/feed/update/urn:li:activity:2']],
    ['https://www.youtube.com/post/EVIL', ['https://www.youtube.com/@x/community?lb=EVIL'], ['https://www.youtube.com/post/GOOD', 'https://www.youtube.com/@x/community?lb=GOOD']],
    ['https://bsky.app/profile/a.bsky.social/post/1', ['at://a.bsky.social/app.bsky.feed.post/1'], ['https://bsky.app/profile/a.bsky.social/post/2']],
    ['https://t.me/evilchan/12', ['https://t.me/s/evilchan/12', 'tg://resolve?domain=evilchan&post=12'], ['https://t.me/evilchan/13', 'https://t.me/evilchan']],
    ['https://github.com/evil/repo/releases/tag/v1', ['https://github.com/Evil/Repo/releases/tag/v1'], ['https://github.com/evil/repo/releases/tag/v2']],
    ['https://apps.apple.com/us/app/x/id123456789', ['https://itunes.apple.com/app/id123456789', 'https://apps.apple.com/de/app/y/id123456789?mt=8'], ['https://apps.apple.com/us/app/x/id123456780']],
    ['https://www.pinterest.com/pin/1/', ['https://www.pinterest.co.uk/pin/1/', 'https://de.pinterest.com/pin/1'], ['https://www.pinterest.com/pin/2/']],
    ['https://us02web.zoom.us/j/1?pwd=x', ['https://zoom.us/j/1'], ['https://zoom.us/j/2', 'https://zoom.us/']],
    ['https://www.ok.ru/dk?st.cmd=evil', [], ['https://ok.ru/dk?st.cmd=good']],
    ['https://matrix.to/#/@evil:host.example', [], ['https://matrix.to/#/@good:host.example', 'https://matrix.to/']],
  ]; // prettier-ignore

  it.each(PAGES)('%s as an own status', async (page, same, other) => {
    const check = await checkerOf([`BLOCKED PAGE ${page}`]);
    for (const content of [page, ...same]) expect([content, check(content).status]).toEqual([content, 'BLOCKED']);
    for (const content of other) expect([content, check(content).status]).toEqual([content, 'UNKNOWN']);
  });

  it.each(PAGES)('%s in a list', async (page, same, other) => {
    for (const list of [
      { text: page },
      {
        text: JSON.stringify({ blacklist: [page], whitelist: [], fuzzylist: [], tolerance: 1, version: 1 }),
        format: 'metamask',
      },
    ] satisfies TestList[]) {
      const check = await checkerOf([], [list]);
      for (const content of [page, ...same]) expect([content, check(content).status]).toEqual([content, 'BLOCKED']);
      for (const content of other) expect([content, check(content).status]).toEqual([content, 'UNKNOWN']);
    }
  });
});

describe('A list entry that is a link which carries a link stands for the carried link', () => {
  it.each([
    ['https://www.google.com/url?q=https%3A%2F%2FTARGET%2F&sa=D'],
    ['https://nam02.safelinks.protection.outlook.com/?url=https%3A%2F%2FTARGET'],
    ['https://urldefense.proofpoint.com/v2/url?u=https-3A__TARGET&d=x'],
    ['https://adclick.g.doubleclick.net/pcs/click?xai=x&adurl=https://TARGET'],
  ])('%s', async (form) => {
    const check = await checkerOf([], [{ text: form.replace('TARGET', 'evil.example') }]);
    expect(check('evil.example').status).toBe('BLOCKED');
    expect(check(form.replace('TARGET', 'evil.example')).status).toBe('BLOCKED');
    expect(check(form.replace('TARGET', 'good.example')).status).toBe('UNKNOWN');
  });

  it('and one whose carried link cannot be read is refused', async () => {
    const check = await checkerOf([], [{ text: 'other.example\nhttps://www.bing.com/ck/a?!&&p=evil' }]);
    expect(check('https://www.bing.com/ck/a?!&&p=good').status).toBe('UNKNOWN');
    expect(check('https://www.bing.com/').status).toBe('UNKNOWN');
  });
});

describe('One account in several encodings is one asset', () => {
  const standard = '4AdUndXHHZ6cfufTMvppY6JwXNouMBzSkbLYfpAV5Usx3skxNgYeYTRj5UzqtReoS44qo9mtmXCqY45DJ852K5Jv2684Rge';
  const integrated =
    '4LL9oSLmtpccfufTMvppY6JwXNouMBzSkbLYfpAV5Usx3skxNgYeYTRj5UzqtReoS44qo9mtmXCqY45DJ852K5Jv2bYXZKKQePHES9khPK';
  const digits = '49d36570d4e46f48e99674bd3fcc84644ddd6b96f7c741b1562b82f9e004dc7';

  it.each([
    [`0x0${digits}`, [`0x${digits}`, `starknet:SN_MAIN:0x${digits}`, `0x0${digits.toUpperCase()}`]],
    [`0x${digits}`, [`0x0${digits}`]],
    [
      EVIL,
      [
        `xdc${EVIL.slice(2)}`,
        `ronin:${EVIL.slice(2)}`,
        bech32.encode('one', bech32.toWords(Buffer.from(EVIL.slice(2), 'hex'))),
      ],
    ],
    [
      'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t',
      ['41a614f803b6fd780986a42c78ec9c7f77e6ded13c', '0x41A614F803B6FD780986A42C78EC9C7F77E6DED13C'],
    ],
    [standard, [integrated, `monero:${integrated}?tx_amount=1`]],
    [
      'f53e52c39b6f1ae8dce8b9b5bf4d8dbe6ae6d8cfc6d4b0fcb2a1b7d4e2f1a0b3',
      ['0xf53e52c39b6f1ae8dce8b9b5bf4d8dbe6ae6d8cfc6d4b0fcb2a1b7d4e2f1a0b3'],
    ],
  ])('%s', async (account, spellings) => {
    const check = await checkerOf([`BLOCKED ADDRESS ${account}`]);
    for (const spelling of [account, ...spellings])
      expect([spelling, check(spelling).status]).toEqual([spelling, 'BLOCKED']);
    const list = await checkerOf([], [{ text: `fine.example\n${spellings[0]!}\nevil.example` }]);
    expect([list('evil.example').status, list(spellings[0]!).status]).toEqual(['BLOCKED', 'BLOCKED']);
  });

  it('but the account of a payment id says nothing of the whole account', async () => {
    expect(base58xmr.decode(integrated)).toHaveLength(77);
    const check = await checkerOf([`BLOCKED ADDRESS ${integrated}`]);
    expect([check(integrated).status, check(standard).status]).toEqual(['BLOCKED', 'UNKNOWN']);
  });

  it('and a name of Facebook is the same with and without periods', async () => {
    const check = await checkerOf([
      'BLOCKED FACEBOOK https://www.facebook.com/evilpage',
      'BLOCKED FACEBOOK evil.other.page',
    ]);
    for (const content of [
      'https://www.facebook.com/evil.page',
      'https://fb.com/evilotherpage',
      'https://m.me/evil.other.page',
    ])
      expect([content, check(content).status]).toEqual([content, 'BLOCKED']);
  });
});

describe('A mailbox', () => {
  it.each(
    'outlook.de outlook.com.br hotmail.it hotmail.es live.fr yahoo.it yahoo.com.br gmx.at gmx.ch yandex.kz tuta.com tutanota.de protonmail.ch ya.ru ukr.net duck.com mail.ee'.split(
      ' ',
    ),
  )('has no status of its host if anybody can have one there: %s', async (host) => {
    const check = await checkerOf([`BLOCKED URL ${host}`]);
    expect([check(`someone@${host}`).status, check(`https://${host}/`).status]).toEqual(['UNKNOWN', 'BLOCKED']);
  });

  it.each(
    'outlook.co hotmail.cm live.me yahoo.evil.example mail.gmx.at outlook.tk yahoo.ml hotmail.gq live.pw live.su aol.ws outlook.ai live.gg'.split(
      ' ',
    ),
  )('has the status of any other host: %s', async (host) => {
    expect((await checkerOf([`BLOCKED URL ${host}`]))(`someone@${host}`).status).toBe('BLOCKED');
  });

  it.each([
    'jos\u00e9\u200b@box.example',
    'jo\u00ads\u00e9@box.example',
    'jos\u200d\u00e9@box.example',
    'JOSE\u0301@box.example',
    `jos\u00e9${'\u200d'.repeat(80)}@box.example`,
    'mailto:jos%C3%A9%E2%80%8B@box.example',
    `xmpp:jos\u00e9${'\u200d'.repeat(80)}@box.example`,
    'jos\u00e9\u200b*box.example',
    `stellar:JOSE\u0301${'\u200d'.repeat(80)}*box.example`,
  ])('or a federated name is the same with invisible characters in it: %j', async (content) => {
    const own = ['EMAIL jos\u00e9@box.example', 'ADDRESS jos\u00e9*box.example'] as const;
    const check = await checkerOf([...own.map((one) => `BLOCKED ${one}` as const), 'ALLOWED URL box.example']);
    expect(check(content).status).toBe('BLOCKED');
  });
});

describe('A text in another form than a link', () => {
  it('is BLOCKED by its mailbox behind any scheme, and by the host', async () => {
    const check = await checkerOf(['BLOCKED EMAIL pay@box.example', 'BLOCKED URL evil.example']);
    for (const scheme of ['lightning:', 'LIGHTNING://', '₿', 'xmpp:', 'sip:', 'unknown:', 'unknown://'])
      expect([
        scheme,
        ...['pay@box', 'other@box', 'any@evil'].map((one) => check(`${scheme}${one}.example`).status),
      ]).toEqual([scheme, 'BLOCKED', 'UNKNOWN', 'BLOCKED']);
  });

  it('is ALLOWED only if a browser shows nothing else', async () => {
    const check = await checkerOf(['ALLOWED URL good.example', 'BLOCKED URL evil.example']);
    for (const [start, status] of [
      ['view-source:', 'ALLOWED'],
      ['blob:', 'ALLOWED'],
      ['about:reader?url=', 'ALLOWED'],
      ['chrome-extension://mhjfbmdgcfjbbpaeojofohoefgiehjai/', 'UNKNOWN'],
    ])
      expect(['good', 'evil'].map((host) => check(`${start}https://${host}.example/`).status)).toEqual([
        status,
        'BLOCKED',
      ]);
  });

  it('is ALLOWED by no account if it names several, and BLOCKED by any', async () => {
    const [good, evil, other] = ['a', 'b', 'c'].map((digit) => `0x${digit.repeat(40)}`);
    const check = await checkerOf([`ALLOWED ADDRESS ${good}`, `BLOCKED ADDRESS ${evil}`]);
    expect(check(`Pay ${good} now`).status).toBe('ALLOWED');
    expect(check(`Pay ${good} or ${other}`).status).toBe('UNKNOWN');
    expect(check(`Pay ${good} or ${evil}`).status).toBe('BLOCKED');
  });
});
