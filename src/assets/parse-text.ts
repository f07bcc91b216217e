import { type Payment, readPayment } from './accounts/payment.js';
import type { Address } from './accounts/account.js';
import { readRecipients, hostsMailboxes, mailboxBehindScheme } from './email.js';
import { isInternalScheme } from './ip-address.js';
import { isNativeIpfs, readIpfs } from './ipfs.js';
import {
  addressKey,
  assetWithoutHost,
  type Content,
  internalContent,
  type ParsedContent,
  PARSE_ERROR,
} from './asset.js';
import { locateLink, locateWeb } from './link.js';
import { locationAsset, locationContent } from './location-asset.js';
import { isDnsName, type Location, parseDefangedLocation, refang } from './location.js';
import { profileName, readReddit } from './profiles/profile.js';
import { cleanPastedText, parsePasted } from './copied-text.js';

/** Platforms of handles. A handle belongs to the first platform whose pattern matches. */
const HANDLES = [
  ['TWITTER', /^@[A-Za-z0-9_]{1,15}$/],
  ['TELEGRAM', /^@[A-Za-z][A-Za-z0-9_]{15,31}$/],
  ['BLUESKY', /^@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})+$/i],
] as const;

/** A scheme except that of mail, or a sign that ends a host. */
const MAY_BE_LINK = /^(?!mailto:)(?:[a-z][a-z0-9+.-]{0,31}:|[^/?#]*[/?#])/i;

const IS_WEB = /^https?:/i;

/**
 * Parses a text that carries no link.
 * @param sent the text after `trimLikeUrlParser`
 */
export const parseText = (sent: string): Content => {
  const refanged = refang(sent);
  if (isInternalScheme(refanged)) return internalContent(refanged);
  // No other type of content begins with `http:` or `https:`.
  const web = locateWeb(sent, refanged);
  return (web ? webContent(sent, web) : parsePasted(sent, parseOtherText)) ?? PARSE_ERROR;
};

/**
 * Returns the location of a web address as pasted. If the host that the URL parser finds can be no DNS name, the
 * address without the punctuation at its end is used.
 */
export const locatePasted = (sent: string, location: Location): Location => {
  const isBeyondDns = /[^a-z0-9_.-]/.test(location.host) || (location.rest === '' && /[^\0-\x7f]$/.test(sent));
  if (!location.isName || !isBeyondDns) return location;
  const cleaned = parseDefangedLocation(cleanPastedText(sent));
  return cleaned !== undefined && isDnsName(cleaned.host) ? cleaned : location;
};

/** Parses a web address. A page is also looked up without the punctuation at its end, which may belong to a sentence. */
const webContent = (sent: string, found: Location): Content | undefined => {
  const location = locatePasted(sent, found);
  const content = locationContent(location);
  const cleanedText = cleanPastedText(sent);
  if (content?.parsed === undefined || location.rest === '' || cleanedText === sent) return content;
  const cleaned = parseDefangedLocation(cleanedText);
  if (cleaned === undefined || cleaned.host !== location.host) return content;
  const known = content.parsed.keys;
  const others = locationAsset(cleaned).keys.filter((key) => !known.includes(key) && !key.startsWith('URL:'));
  return others.length === 0
    ? content
    : { parsed: { ...content.parsed, blockingKeys: [...(content.parsed.blockingKeys ?? []), ...others] } };
};

const parseOtherText = (sent: string): Content | undefined => {
  const text = refang(sent);
  if (text === '') return undefined;
  if (isInternalScheme(text)) return internalContent(text);
  if (/^[^.@?]*(?:\?|$)/.test(text) || /^(?:[a-z0-9+-]+:|[^\s:/?#]+\*)/i.test(text)) {
    const payment = readPayment(text);
    if (payment) return paymentContent(payment);
  }
  const recipients = text.includes('@') || /^mailto:/i.test(text) ? readRecipients(text) : undefined;
  if (recipients !== undefined) {
    const [first, ...others] = recipients.emails.map(emailAsset);
    // What is read as several mailboxes may be the user and the host of a link: `ftp://user,a@host/path`.
    const location = !recipients.isUnderstood && MAY_BE_LINK.test(text) ? locateLink(sent) : undefined;
    const opened = location && locationContent(location)?.parsed;
    const alternatives = opened === undefined ? others : [...others, opened];
    return first && { parsed: withAlternatives(first, alternatives, !recipients.isUnderstood) };
  }
  if (text.startsWith('@')) return handle(text);
  if (isNativeIpfs(text) || !/[.:]/.test(text)) {
    const cid = readIpfs(text);
    if (cid !== undefined) return { parsed: assetWithoutHost('IPFS', cid) };
  }
  const reddit = readReddit(text);
  if (reddit !== undefined) return { parsed: assetWithoutHost('REDDIT', reddit) };
  const location = IS_WEB.test(text) ? locateWeb(sent, text) : locateLink(sent);
  const content = location && locationContent(location);
  const mailbox = content?.parsed && mailboxBehindScheme(text)?.email;
  return mailbox === undefined
    ? content
    : { parsed: { ...content!.parsed!, blockingKeys: [`EMAIL:${mailbox}`, ...(content!.parsed!.blockingKeys ?? [])] } };
};

/** Adds what a text may open instead of the asset. */
const withAlternatives = (
  parsed: ParsedContent,
  alternatives: readonly ParsedContent[],
  isUncertain: boolean,
): ParsedContent => (alternatives.length === 0 && !isUncertain ? parsed : { ...parsed, alternatives, isUncertain });

const handle = (text: string): Content | undefined => {
  const type = HANDLES.find(([, pattern]) => pattern.test(text))?.[0];
  return type && { parsed: assetWithoutHost(type, profileName(type, text)) };
};

const accountAsset = ({ key, keyWithoutTag }: Address): ParsedContent => ({
  ...assetWithoutHost('ADDRESS', key),
  keys: keyWithoutTag === undefined ? [addressKey(key)] : [addressKey(key), addressKey(keyWithoutTag)],
  account: keyWithoutTag ?? key,
});

/** Parses a name of Ethereum's name service as the host of the same name. */
const nameAsset = (name: string): readonly ParsedContent[] => {
  const location = parseDefangedLocation(name);
  const parsed = location && locationContent(location)?.parsed;
  return parsed === undefined ? [] : [parsed];
};

const paymentContent = ({ recipients, names, contracts, isUnderstood }: Payment): Content | undefined => {
  const assetsOf = (party: Address | string): readonly ParsedContent[] =>
    typeof party === 'string' ? nameAsset(party) : [accountAsset(party)];
  const named = names.flatMap(assetsOf);
  const carriers = contracts.flatMap(assetsOf);
  const [payee, ...alternatives] = [...recipients.map(accountAsset), ...named];
  if (payee === undefined) return undefined;
  const parsed = withAlternatives(payee, alternatives, !isUnderstood || named.length < names.length);
  return { parsed: carriers.length === 0 ? parsed : { ...parsed, carriers } };
};

const emailAsset = (email: string): ParsedContent => {
  const host = email.slice(email.lastIndexOf('@') + 1);
  return {
    ...assetWithoutHost('EMAIL', email),
    host,
    isSharedHost: hostsMailboxes(host),
    isDnsName: true,
    isOnHost: true,
  };
};
