import { readCopied, withoutCopied } from '../text/copied-text.js';
import { isInternalScheme } from '../internal-host.js';
import { locateLink, locateWeb } from '../link.js';
import { type Location, locateMeant, parseLocation, parsePlainLocation, refang } from '../location.js';
import { ofIntent, onlyCarried } from './app-links.js';
import { byForm } from './forms.js';
import { decoded, ENCODED, inNotation } from './notations.js';

const APP = /^([a-z][a-z0-9+.-]{0,63}):/i;
/** What follows an app's scheme, as the rest of a location. */
const restOfApp = (text: string): string => `/${text.slice(text.indexOf(':') + 1).replace(/^[\\/]+/, '')}`;

/** A text and what it carries. */
interface Step {
  /** The links that the text opens: more than one if which of them depends on the app. */
  readonly links: readonly string[];
  readonly carrier?: Location;
  /** The carrier is what the text as sent names. */
  readonly isWhole?: boolean;
}
const NOTHING: Step = { links: [] };

const ofLocation = (carrier: Location): Step => ({ links: byForm(carrier.host, carrier.rest), carrier });

const stepFrom = (sent: string): Step => {
  const text = withoutCopied(sent);
  const meant = refang(text);
  const web = locateWeb(text, meant);
  if (web !== undefined) return { ...ofLocation(web), isWhole: text === sent };
  const scheme = APP.exec(meant)?.[1]!.toLowerCase();
  if (scheme !== undefined) {
    if (scheme === 'intent') return { links: ofIntent(meant) };
    const known = byForm(`${scheme}:`, restOfApp(meant));
    if (known.length > 0) return { links: known };
    if (isInternalScheme(meant)) return NOTHING;
  }
  const noted = inNotation(sent);
  if (noted !== undefined) return { links: [noted] };
  if (scheme !== undefined) {
    const only = onlyCarried(meant);
    if (only.length > 0) return { links: only };
  }
  // A host of the web without a scheme, such as `metamask.app.link/dapp/…`.
  const bare = scheme === undefined && /^[\w.-]{1,253}[/?]/.test(meant) ? parseLocation(meant) : undefined;
  if (bare !== undefined) return ofLocation(bare);
  if (meant.includes('%') && ENCODED.test(meant) && locateMeant(meant) === undefined)
    return { links: [decoded(meant)] };
  return NOTHING;
};

/** A carrier in a carrier is followed this often. */
const MAX_STEPS = 6;

/** What a text opens, through any carriers. */
interface Unfolded {
  /** The text that is meant; undefined if which one cannot be told. */
  readonly text: string | undefined;
  /** The web addresses that carry it: if one of them is bad, so is the text. */
  readonly carriers: readonly Location[];
  /** What the text names, if finding its carriers has found out. */
  readonly location?: Location;
}

const NO_CARRIERS: readonly Location[] = [];

/** Follows the links that a text carries. Takes time proportional to the length of the text. */
export const unfold = (sent: string, plain?: Location): Unfolded => {
  let step = plain === undefined ? stepFrom(sent) : ofLocation(plain);
  if (step.links.length === 0)
    return { text: sent, carriers: NO_CARRIERS, ...(step.isWhole === true && { location: step.carrier! }) };
  const carriers: Location[] = [];
  let text = sent;
  for (let steps = 0; step.links.length > 0; steps += 1) {
    if (step.carrier !== undefined) carriers.push(step.carrier);
    if (steps === MAX_STEPS) return { text: undefined, carriers };
    text = step.links[0]!;
    if (step.links.length > 1) {
      // A command of an app has no host with a dot.
      const ends = step.links.slice(0, 3).map((link) => ({ link, at: unfoldOnce(link) }));
      const hosts = ends.filter(({ at }) => at !== undefined && /[.:]/.test(at.host));
      if (step.links.length > ends.length || new Set(hosts.map(({ at }) => at!.host)).size > 1)
        return { text: undefined, carriers: [...carriers, ...hosts.map(({ at }) => at!)] };
      text = hosts[0]?.link ?? text;
    }
    step = stepFrom(text);
  }
  return { text, carriers };
};

/** Where one of several links leads, past one carrier. */
const unfoldOnce = (link: string): Location | undefined => {
  const [inner, ...others] = stepFrom(link).links;
  const text = inner === undefined || others.length > 0 ? link : inner;
  return parsePlainLocation(text) ?? locateMeant(withoutCopied(text));
};

const locateIn = (sent: string, locate: (text: string) => Location | undefined): Location | undefined => {
  const { text } = unfold(sent, parsePlainLocation(sent));
  return text === undefined ? undefined : (locateWeb(text) ?? readCopied(text, locate));
};

/** The location that a copied text names or carries: an app's link has none. */
export const locateCopied = (text: string): Location | undefined => locateIn(text, (link) => locateMeant(link));

/** The location that a copied text leads to, in any form that a platform hands out. */
export const locateCopiedLink = (text: string): Location | undefined => locateIn(text, (link) => locateLink(link));
