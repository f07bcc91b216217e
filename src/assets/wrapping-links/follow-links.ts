import { parsePasted, cleanPastedText } from '../text/copied-text.js';
import { isInternalScheme } from '../internal-host.js';
import { locateLink, locateWeb } from '../link.js';
import { type Location, parseDefangedLocation, parseLocation, parsePlainLocation, refang } from '../location.js';
import { linksOfIntent, onlyWebLinkIn } from './app-links.js';
import { linksOfDeepLink } from './deep-links.js';
import { decodeOnce, ENCODED_LINK, linkInMarkup } from './markup.js';

const APP = /^([a-z][a-z0-9+.-]{0,63}):/i;
/** Returns the text after the scheme of an app link, in the form of the `rest` of a location. */
const restOfApp = (text: string): string => `/${text.slice(text.indexOf(':') + 1).replace(/^[\\/]+/, '')}`;

/** The links that a text carries, such as the target of a deep link. */
interface CarriedLinks {
  /** The links that the text may open. If there are several links, the app decides which of them it opens. */
  readonly links: readonly string[];
  /** The web address that carries the links. */
  readonly wrappingLink?: Location;
  /** True if `wrappingLink` is the location of the whole text as sent. */
  readonly isWhole?: boolean;
}
const NO_LINKS: CarriedLinks = { links: [] };

const linksOfLocation = (wrappingLink: Location): CarriedLinks => ({
  links: linksOfDeepLink(wrappingLink.host, wrappingLink.rest),
  wrappingLink,
});

const linksCarriedBy = (sent: string): CarriedLinks => {
  const text = cleanPastedText(sent);
  const refanged = refang(text);
  const web = locateWeb(text, refanged);
  if (web !== undefined) return { ...linksOfLocation(web), isWhole: text === sent };
  const scheme = APP.exec(refanged)?.[1]!.toLowerCase();
  if (scheme !== undefined) {
    if (scheme === 'intent') return { links: linksOfIntent(refanged) };
    const known = linksOfDeepLink(`${scheme}:`, restOfApp(refanged));
    if (known.length > 0) return { links: known };
    if (isInternalScheme(refanged)) return NO_LINKS;
  }
  const inMarkup = linkInMarkup(sent);
  if (inMarkup !== undefined) return { links: [inMarkup] };
  if (scheme !== undefined) {
    const only = onlyWebLinkIn(refanged);
    if (only.length > 0) return { links: only };
  }
  // A web address without a scheme, such as `metamask.app.link/dapp/…`.
  const bare = scheme === undefined && /^[\w.-]{1,253}[/?]/.test(refanged) ? parseLocation(refanged) : undefined;
  if (bare !== undefined) return linksOfLocation(bare);
  if (refanged.includes('%') && ENCODED_LINK.test(refanged) && parseDefangedLocation(refanged) === undefined)
    return { links: [decodeOnce(refanged)] };
  return NO_LINKS;
};

/** Maximum number of nested wrapping links that are followed. */
const MAX_WRAPPING_LINKS = 6;

/** The result of following the links in a text. */
interface FollowedText {
  /** The link that the text finally opens; undefined if there are several candidates or too many wrapping links. */
  readonly text: string | undefined;
  /** The web addresses that carry the link. If one of these addresses is blocked, the text is blocked. */
  readonly wrappingLinks: readonly Location[];
  /** The location of `text`, if the text was already parsed. */
  readonly location?: Location;
}

const NO_WRAPPING_LINKS: readonly Location[] = [];

/**
 * Follows the links that a text carries, through nested wrapping links. Takes time proportional to the length of the
 * text.
 * @param plain the location of the text, if the location is already known
 */
export const followLinks = (sent: string, plain?: Location): FollowedText => {
  let step = plain === undefined ? linksCarriedBy(sent) : linksOfLocation(plain);
  if (step.links.length === 0)
    return {
      text: sent,
      wrappingLinks: NO_WRAPPING_LINKS,
      ...(step.isWhole === true && { location: step.wrappingLink! }),
    };
  const wrappingLinks: Location[] = [];
  let text = sent;
  for (let steps = 0; step.links.length > 0; steps += 1) {
    if (step.wrappingLink !== undefined) wrappingLinks.push(step.wrappingLink);
    if (steps === MAX_WRAPPING_LINKS) return { text: undefined, wrappingLinks };
    text = step.links[0]!;
    if (step.links.length > 1) {
      // A candidate without a dot or colon in its host is a command of the app, not a link.
      const ends = step.links.slice(0, 3).map((link) => ({ link, at: locatePastOneLink(link) }));
      const hosts = ends.filter(({ at }) => at !== undefined && /[.:]/.test(at.host));
      if (step.links.length > ends.length || new Set(hosts.map(({ at }) => at!.host)).size > 1)
        return { text: undefined, wrappingLinks: [...wrappingLinks, ...hosts.map(({ at }) => at!)] };
      text = hosts[0]?.link ?? text;
    }
    step = linksCarriedBy(text);
  }
  return { text, wrappingLinks };
};

/** Returns the location of a link after following at most one wrapping link. */
const locatePastOneLink = (link: string): Location | undefined => {
  const [inner, ...others] = linksCarriedBy(link).links;
  const text = inner === undefined || others.length > 0 ? link : inner;
  return parsePlainLocation(text) ?? parseDefangedLocation(cleanPastedText(text));
};

const locateIn = (sent: string, locate: (text: string) => Location | undefined): Location | undefined => {
  const { text } = followLinks(sent, parsePlainLocation(sent));
  return text === undefined ? undefined : (locateWeb(text) ?? parsePasted(text, locate));
};

/** Returns the location that a pasted text names or carries; undefined for app links. */
export const locatePastedText = (text: string): Location | undefined =>
  locateIn(text, (link) => parseDefangedLocation(link));

/** Returns the location of a pasted link, including app links of known platforms such as `tg://`. */
export const locatePastedLink = (text: string): Location | undefined => locateIn(text, (link) => locateLink(link));
