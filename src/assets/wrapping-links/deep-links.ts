import { pathOf, queryOf } from '../location.js';

/**
 * Deep links of wallets and browsers that open another link. Each line has hosts or app schemes, then patterns for the
 * path and query. `{link}` marks the position of the link; at the end of a path, `{link}` matches the rest of the path.
 * `*` matches any segment.
 */
const DEEP_LINKS = `
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

interface DeepLink {
  /** Segments of the path in lower case; `*` matches any segment. */
  readonly segments: readonly string[];
  /** Name of the parameter with the link, in lower case; undefined if the link follows the path. */
  readonly parameter: string | undefined;
}

const parseDeepLink = (text: string): DeepLink => {
  const [path, query] = text.split('?') as [string, string?];
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== '{link}');
  return { segments, parameter: query?.replace('={link}', '') };
};

const BY_HOST_OR_SCHEME = new Map<string, readonly DeepLink[]>();
for (const line of DEEP_LINKS.trim().split('\n')) {
  const words = line.trim().split(' ');
  const forms = words.filter((word) => word.includes('{link}')).map(parseDeepLink);
  for (const word of words)
    if (!word.includes('{link}')) BY_HOST_OR_SCHEME.set(word, [...(BY_HOST_OR_SCHEME.get(word) ?? []), ...forms]);
}

const HAS_SCHEME = /^(?:[a-z][a-z0-9+-]*(?::|%(?:25)*3a)|[a-z][a-z0-9+.-]*:\/\/)/i;
/** Adds `https://` to a link without a scheme, as a browser does. */
const withScheme = (link: string): string => (HAS_SCHEME.test(link) ? link : `https://${link}`);

const matchDeepLink = ({ segments, parameter }: DeepLink, path: string, rest: string): readonly string[] => {
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
    return /[.:%]/.test(path.slice(at)) ? [withScheme(link)] : [];
  }
  const values = new Set<string>();
  for (const [name, value] of queryOf(rest))
    if (name.toLowerCase() === parameter && value !== '') values.add(withScheme(value));
  return [...values];
};

/**
 * Returns the links that a known deep link opens. There are several links if a parameter is repeated.
 * @param hostOrScheme a host, or the scheme of an app including the colon
 * @param rest path, query and fragment, as in `Location`
 */
export const linksOfDeepLink = (hostOrScheme: string, rest: string): readonly string[] => {
  const forms = BY_HOST_OR_SCHEME.get(hostOrScheme);
  if (forms === undefined) return [];
  const path = pathOf(rest);
  for (const form of forms) {
    const links = matchDeepLink(form, path, rest);
    if (links.length > 0) return links;
  }
  return [];
};
