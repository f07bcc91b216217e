import { pathOf, queryOf } from '../location.js';

/**
 * Deep links of wallets and browsers that open another link: a host or an app's scheme, and where in the rest the link
 * is. `{link}` at the end of a path is everything after it; `*` is any segment.
 */
const FORMS = `
  metamask.app.link metamask-alternate.app.link metamask.test-app.link link.metamask.io metamask: dapp/{link}
  metamask: browser/{link}
  dapp: {link}
  go.cb-w.com cbwallet: dapp?cb_url={link} dapp?url={link}
  wallet.coinbase.com base.app dapp?cb_url={link} dapp?url={link}
  phantom.app phantom.com ul/browse/{link} ul/v1/browse/{link} ul/browse?url={link} ul/v1/browse?url={link}
  phantom: browse/{link} v1/browse/{link} ul/browse/{link} ul/v1/browse/{link} browse?url={link} v1/browse?url={link}
  solflare.com backpack.app ul/browse/{link} ul/v1/browse/{link}
  solflare: backpack: browse/{link} v1/browse/{link} ul/browse/{link} ul/v1/browse/{link}
  link.trustwallet.com trust: open_url?url={link}
  link.onchain.com open_url?url={link}
  okx: okex: wallet/dapp/url?dappurl={link} wallet/dapp/details?dappurl={link}
  okx.com www.okx.com web3.okx.com okex.com www.okex.com download?deeplink={link}
  rainbow: dapp?url={link} open?url={link}
  rnbwapp.com dapp?url={link} open?url={link}
  rainbow.me dapp?url={link}
  bkcode.vip ?url={link}
  bitkeep: bitget: bkconnect?url={link}
  imtokenv2: navigate?url={link} navigate/dappview?url={link}
  keplrwallet: web-browser?url={link}
  deeplink.keplr.app web-browser?url={link}
  petra.app explore?link={link}
  app.tonkeeper.com tonkeeper: dapp/{link}
  zerion: browser?url={link}
  safepalwallet: dapp?url={link}
  ledgerlive: discover?url={link}
  dial.to ?action={link} developer?url={link}
  googlechrome: navigate?url={link} {link}
  googlechromes: braves: {link}
  brave: firefox: firefox-focus: firefox-klar: open-url?url={link}
  firefox-open-url: ?url={link}
  microsoft-edge: microsoft-edge-http: microsoft-edge-https: {link}
  touch-http: touch-https: opera-http: opera-https: {link}
  yandexbrowser-open-url: ddgquicklink: {link}
  android-app: */https/{link} */http/{link}
  x-github-client: openrepo/{link}
  git+https: git+http: git+ssh: {link}
`;

interface Form {
  /** Lower-case segments of the path; `*` is any. */
  readonly segments: readonly string[];
  /** Lower-case name of the parameter with the link; undefined if the link follows the path. */
  readonly parameter: string | undefined;
}

const formOf = (text: string): Form => {
  const [path, query] = text.split('?') as [string, string?];
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== '{link}');
  return { segments, parameter: query?.replace('={link}', '') };
};

const BY_CARRIER = new Map<string, readonly Form[]>();
for (const line of FORMS.trim().split('\n')) {
  const words = line.trim().split(' ');
  const forms = words.filter((word) => word.includes('{link}')).map(formOf);
  for (const word of words)
    if (!word.includes('{link}')) BY_CARRIER.set(word, [...(BY_CARRIER.get(word) ?? []), ...forms]);
}

const HAS_SCHEME = /^(?:[a-z][a-z0-9+-]*(?::|%(?:25)*3a)|[a-z][a-z0-9+.-]*:\/\/)/i;
/** A browser opens a host without a scheme over HTTPS. */
const asOpened = (link: string): string => (HAS_SCHEME.test(link) ? link : `https://${link}`);

const matchForm = ({ segments, parameter }: Form, path: string, rest: string): readonly string[] => {
  let at = 0;
  for (const segment of segments) {
    while (path[at] === '/') at += 1;
    const slash = path.indexOf('/', at);
    const end = slash === -1 ? path.length : slash;
    if (at === end || (segment !== '*' && path.slice(at, end).toLowerCase() !== segment)) return [];
    at = end;
  }
  if (parameter === undefined) {
    while (path[at] === '/') at += 1;
    const query = rest.search(/[?#]/);
    const link = path.slice(at) + (query === -1 ? '' : rest.slice(query));
    return /[.:%]/.test(path.slice(at)) ? [asOpened(link)] : [];
  }
  const values = new Set<string>();
  for (const [name, value] of queryOf(rest))
    if (name.toLowerCase() === parameter && value !== '') values.add(asOpened(value));
  return [...values];
};

/**
 * The links that a known carrier opens: more than one if a parameter is repeated.
 * @param carrier a host, or an app's scheme with its colon
 * @param rest what follows, as in a `Location`
 */
export const byForm = (carrier: string, rest: string): readonly string[] => {
  const forms = BY_CARRIER.get(carrier);
  if (forms === undefined) return [];
  const path = pathOf(rest);
  for (const form of forms) {
    const links = matchForm(form, path, rest);
    if (links.length > 0) return links;
  }
  return [];
};
