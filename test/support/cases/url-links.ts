/** A link that upstream reports with the type URL, and that leads to something smaller than its host. */
interface UrlLink {
  readonly link: string;
  /** The key of what the link names. */
  readonly key: string;
  /** A link to something else on the same host. */
  readonly other: string;
  /** The comparison in the pattern of TAXII. */
  readonly pattern: string;
}

const page = (link: string, name: string, other: string): UrlLink => ({
  link,
  key: `PAGE:${name}`,
  other,
  pattern: `url:value = 'https://${name}'`,
});
const CID = 'bafybeie5nqv6kd3qnfjupgvz34woh3oksc3iau6abmyajn7qvtf47pxkue';
const OTHER_CID = 'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy';

/** Pages of publishing hosts, carriers and log-ins that many sites share. */
const PAGES = [
  page(
    'https://docs.google.com/forms/d/e/EVIL/viewform?usp=sf_link',
    'docs.google.com/forms/d/e/EVIL',
    'https://docs.google.com/forms/d/e/GOOD/viewform',
  ),
  page(
    'https://docs.google.com/document/u/0/d/EVIL/edit',
    'docs.google.com/document/d/EVIL',
    'docs.google.com/document/d/GOOD',
  ),
  page(
    'https://drive.google.com/open?id=EVIL',
    'drive.google.com/file/d/EVIL',
    'https://drive.google.com/open?id=GOOD',
  ),
  page(
    'https://sites.google.com/view/evil-wallet',
    'sites.google.com/view/evil-wallet',
    'https://sites.google.com/view/good',
  ),
  page('hxxps://forms[.]gle/EVIL', 'forms.gle/EVIL', 'https://forms.gle/GOOD'),
  page('https://telegra.ph/Evil-Airdrop-01-01#x', 'telegra.ph/Evil-Airdrop-01-01', 'https://telegra.ph/Good-01-01'),
  page('https://www.youtube.com/watch?v=EVIL&t=9', 'youtube.com/watch?v=EVIL', 'https://youtu.be/GOOD'),
  page('https://www.dropbox.com/s/EVIL/a.html?dl=1', 'dropbox.com/s/EVIL', 'https://www.dropbox.com/s/GOOD/a.html'),
  page('https://forms.office.com/r/EVIL', 'forms.office.com/r/EVIL', 'https://forms.office.com/r/GOOD'),
  page('https://bit.ly/EVIL', 'bit.ly/EVIL', 'https://bit.ly/GOOD'),
  page('https://x.com/thief/status/1', 'x.com/i/status/1', 'https://x.com/thief/status/2'),
  page('https://snapshot.org/#/evil.eth', 'snapshot.org/#/evil.eth', 'https://snapshot.org/#/good.eth'),
  page(
    'https://maps.app.goo.gl/EVIL?link=https%3A%2F%2Fgood.example',
    'maps.app.goo.gl/EVIL?link=https%3A%2F%2Fgood.example',
    'https://maps.app.goo.gl/GOOD?link=https%3A%2F%2Fgood.example',
  ),
  page(
    'https://wa.me/message/EVIL?phone=4912345678',
    'wa.me/message/EVIL?phone=4912345678',
    'https://wa.me/4912345678',
  ),
  page(
    'https://onedrive.live.com/view?resid=EVIL%211&authkey=a&id=1',
    'onedrive.live.com/redir?resid=EVIL!1',
    'https://onedrive.live.com/?id=1',
  ),
  page(
    'https://play.google.com/store/apps/details?id=EVIL&id=com.good.app',
    'play.google.com/store/apps/details?id=EVIL',
    'https://play.google.com/store/apps/details?id=com.good.app',
  ),
  page('tg://user?id=1', 't.me/-/user?id=1', 'tg://user?id=2'),
  page('tg://invoice?slug=EVIL', 't.me/-/invoice?slug=EVIL', 'tg://invoice?slug=evil'),
  page('tg://join?invite=Ab', 't.me/-/join?invite=Ab', 'tg://join?invite=Cd'),
  page(
    'tg://proxy?server=a.example&port=1',
    't.me/-/proxy?port=1&server=a.example',
    'tg://proxy?server=b.example&port=1',
  ),
  page('tg://login?token=EVIL', 't.me/-/login?token=EVIL', 'tg://login?token=GOOD'),
  page(
    'https://www.paypal.com/invoice/p/#INV2-EVIL',
    'paypal.com/invoice/p#INV2-EVIL',
    'https://www.paypal.com/invoice/p/#6TKGFGLX73LUZXP3',
  ),
  page('https://medium.com/evilnews', 'medium.com/evilnews', 'https://medium.com/@evilnews'),
  page(
    'https://farcaster.xyz/evil?launchFrameUrl=https://good.example',
    'warpcast.com/evil?launchFrameUrl=https%3A%2F%2Fgood.example',
    'https://farcaster.xyz/evil',
  ),
  page(
    'https://web.telegram.org/k/#@evil?tgaddr=tg%3A%2F%2Fresolve%3Fdomain%3Dgood',
    'web.telegram.org/k#@evil?tgaddr=tg%3A%2F%2Fresolve%3Fdomain%3Dgood',
    'https://web.telegram.org/k/#@evil',
  ),
  page('https://metamask.app.link/EVIL', 'metamask.app.link/EVIL', 'https://metamask.app.link/GOOD'),
  page(
    'https://login.microsoftonline.com/common/oauth2/v2.0/authorize?client_id=EVIL&response_type=code&redirect_uri=https%3A%2F%2Fevil.example%2Fcb',
    'login.microsoftonline.com/oauth2/authorize?client_id=EVIL',
    'https://login.microsoftonline.com/common/oauth2/v2.0/authorize?client_id=GOOD',
  ),
] as const;

const OTHERS: readonly UrlLink[] = [
  {
    link: 'https://twitter.com/Evil?lang=en',
    key: 'TWITTER:evil',
    other: 'https://x.com/good',
    pattern: `url:value = 'https://x.com/evil'`,
  },
  {
    link: 'https://t.me/EvilWallet',
    key: 'TELEGRAM:evilwallet',
    other: 'https://t.me/goodwallet',
    pattern: `url:value = 'https://t.me/evilwallet'`,
  },
  {
    link: 'tg://resolve?domain=evilsupport',
    key: 'TELEGRAM:evilsupport',
    other: 'https://t.me/goodsupport',
    pattern: `url:value = 'https://t.me/evilsupport'`,
  },
  {
    link: 'tg://resolve?phone=491711234567',
    key: 'TELEGRAM:+491711234567',
    other: 'tg://resolve?domain=goodsupport',
    pattern: `url:value = 'https://t.me/+491711234567'`,
  },
  {
    link: 'https://www.google.com/url?q=https%3A%2F%2Fcarried.evil.example%2Fa',
    key: 'URL:carried.evil.example',
    other: 'https://www.google.com/url?q=https%3A%2F%2Fgood.example%2Fa',
    pattern: `domain-name:value = 'carried.evil.example'`,
  },
  {
    link: `https://ipfs.io/ipfs/${CID}`,
    key: `IPFS:${CID}`,
    other: `https://ipfs.io/ipfs/${OTHER_CID}`,
    pattern: `x-asset:value = 'https://ipfs.io/ipfs/${CID}'`,
  },
];

export const URL_LINKS: readonly UrlLink[] = [...PAGES, ...OTHERS];

/** Links on hosts of one owner, and hosts of many people without a path. They stand for the host. */
export const URLS_OF_HOSTS = [
  ['https://evil.example/a?b=1#c', 'evil.example'],
  ['https://evil.github.io/login', 'evil.github.io'],
  ['https://login.evil.example/common/oauth2/authorize?client_id=x', 'login.evil.example'],
  ['https://evil.example/?u=https%3A%2F%2Fother.example', 'evil.example'],
  ['https://docs.google.com', 'docs.google.com'],
  ['https://docs.google.com/', 'docs.google.com'],
  ['x.com', 'x.com'],
  ['login.microsoftonline.com', 'login.microsoftonline.com'],
  ['metamask.app.link', 'metamask.app.link'],
] as const;
