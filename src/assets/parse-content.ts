import { partsOfText } from './carriers/markup.js';
import { type FollowedText, followLinks } from './carriers/follow-links.js';
import { locationAsset, locationContent } from './location-asset.js';
import { isBlank, type Location, parsePlainLocation, trimLikeUrlParser } from './location.js';
import { parseText } from './parse-text.js';
import { assetWithoutHost, type Content, type ParsedContent, PARSE_ERROR } from './asset.js';
import { payeesOfMerchant } from './accounts/merchant.js';
import { copiedText, decodeOnce } from './copied-text.js';

/**
 * Parses content: a URL, a host, an IP address, a wallet address, a profile link or handle, an e-mail address or IPFS
 * content, in any common spelling. Takes time proportional to the length of the content.
 */
export const parseContent = (sent: string): Content => {
  const content = copiedText(sent);
  const payees = payeesOfMerchant(content);
  if (payees !== undefined) return openAll(payees.join(' '));
  const plain = isBlank(content.charCodeAt(content.length - 1)) ? undefined : parsePlainLocation(content);
  if (plain === undefined && MESSAGE.test(content)) return parseMessage(content);
  const parsed = parseLink(content, plain);
  // A host without a path has no room for a second link.
  return plain?.rest === '' ? parsed : withTextsBehind(content, parsed);
};

const parseLink = (content: string, plain: Location | undefined): Content => {
  const sent = plain === undefined ? trimLikeUrlParser(content) : content;
  const followed = followLinks(sent, plain);
  return followed === undefined ? parseWhole(sent, plain) : parseFollowed(content, followed);
};

const parseWhole = (sent: string, plain: Location | undefined): Content =>
  plain === undefined || endsInPunctuation(sent) ? parseText(sent) : (locationContent(plain) ?? PARSE_ERROR);

/** Whether the text may have been copied with the end of a sentence. */
const endsInPunctuation = (text: string): boolean => /[^\w/=&%#~-]/.test(text.at(-1) ?? '');

const nameOf = ({ type, name }: ParsedContent): string => `${type}:${name}`;

const areEqual = (some: readonly string[] = [], others: readonly string[] = []): boolean =>
  some.length === others.length && some.every((one, index) => one === others[index]);

/** Whether two assets are equal. All pages of a host have the name of the host, and only their keys tell them apart. */
const isSame = (one: ParsedContent, other: ParsedContent): boolean =>
  nameOf(one) === nameOf(other) && areEqual(one.keys, other.keys) && areEqual(one.blockingKeys, other.blockingKeys);

/** Returns a text that may open several assets, as an asset of its own. */
const wholeText = (content: string): ParsedContent => {
  const text = content.trim();
  return { ...assetWithoutHost('URL', text), keys: [`URL:${text}`, `PAGE:${text}`] };
};

/**
 * Combines what a text may open. If it is unknown which of several assets is opened, the text itself is the asset, and
 * each of them can only block it.
 */
const parseFollowed = (
  content: string,
  { targets, returns, carriers, isUnderstood, isHostOnly }: FollowedText,
): Content => {
  const contents = targets.map((target) => ({ target, ...parseText(target) }));
  const [only] = contents;
  if (
    contents.length === 1 &&
    (only!.code === 'internal-scheme' || (only!.code !== undefined && carriers.length === 0))
  )
    return only!;
  const opened: ParsedContent[] = [];
  for (const { target, parsed } of contents)
    if (parsed !== undefined && !opened.some((one) => isSame(one, parsed))) opened.push({ ...parsed, opened: target });
  const isUncertain =
    !isUnderstood ||
    isHostOnly ||
    contents.some(({ code, parsed }) => code !== undefined || parsed.isUncertain === true);
  const [first, ...others] = opened;
  if (first === undefined && carriers.length === 0) return PARSE_ERROR;
  // Everything else is opened after the first one or instead of it.
  const isLed = returns.size === targets.length - 1 && !returns.has(first?.opened ?? '');
  const isOneName = first !== undefined && others.every((one) => nameOf(one) === nameOf(first));
  const isClear = first !== undefined && (isOneName || !isUncertain || isLed);
  const asset = isClear ? first : wholeText(content);
  return withAlternatives(asset, isClear ? others : opened, isUncertain, carriers.map(locationAsset));
};

/** A message or a contact, as in QR codes: `sms:…?body=…`, `SMSTO:…:…`, `MATMSG:TO:…;BODY:…;;`, `MECARD:…`, a vCard. */
const MESSAGE = /^\s{0,16}(?:(?:sms|mms)(?:to)?:|matmsg:|mecard:|begin:vcard)/i;
/** A sign that such a format escapes in its values. */
const ESCAPED = /\\([:;,])/g;
/** The names of its fields, which are read as the end of what is before them. The end of one may begin the next. */
const FIELDS =
  /(?:^|[;:?&\s]|(?<=:))(?:(?:sms|mms)(?:to)?:[+\d-]{0,32}:?|matmsg:|mecard:|(?:[\w-]{1,32}\.)?(?:to|sub|subject|body|url|email)(?:;[\w-]{1,32}(?:=[\w",-]{0,64})?){0,8}[:=])/gi;

const parseMessage = (content: string): Content =>
  openAll(decodeOnce(content).replace(ESCAPED, '$1').replace(FIELDS, ' '));

/** Parses a text of which any part may be opened. */
const openAll = (text: string): Content => {
  const { targets, isUncertain } = targetsIn(text, true);
  return withAlternatives(targets.shift(), targets, isUncertain);
};

const withAlternatives = (
  asset: ParsedContent | undefined,
  others: readonly ParsedContent[],
  isUncertain: boolean,
  carriersBefore: readonly ParsedContent[] = [],
): Content => {
  if (asset === undefined) return PARSE_ERROR;
  const alternatives = [...(asset.alternatives ?? []), ...others.flatMap((one) => [one, ...(one.alternatives ?? [])])];
  const carriers = [...carriersBefore, ...[asset, ...others].flatMap((one) => one.carriers ?? [])];
  return { parsed: { ...asset, isUncertain: isUncertain || asset.isUncertain === true, alternatives, carriers } };
};

/** What a part of a text names. */
interface Target extends ParsedContent {
  /** As in `TextPart`. */
  readonly isBegin: boolean;
}

/** Returns what the parts of a text name. */
const targetsIn = (text: string, isMessage = false): { targets: Target[]; isUncertain: boolean } => {
  const whole = { text: text.trim(), isBegin: false };
  const { parts, hasMore } = partsOfText(text, isMessage) ?? { parts: isMessage ? [whole] : [], hasMore: false };
  const targets: Target[] = [];
  let isUncertain = hasMore;
  for (const { text: one, isBegin } of parts) {
    const { parsed, code } = parseLink(one, undefined);
    if (parsed !== undefined) {
      const known = targets.findIndex((other) => isSame(other, parsed));
      if (known === -1) targets.push({ ...parsed, opened: parsed.opened ?? one, isBegin });
      else if (!isBegin) targets[known] = { ...targets[known]!, isBegin };
    }
    if (code === 'internal-scheme' || parsed?.isUncertain === true) isUncertain = true;
  }
  return { targets, isUncertain };
};

/** The schemes of links that contain what they show. */
const SCRIPT = /^\s*(?:javascript|vbscript|data|blob|filesystem|view-source):/i;
const HAS_WEB_LINK = /h[tx*_]{2}ps?(?::\/\/|\[:)/i;
/** A text that begins like this is rather one link than a sentence with a link. */
const IS_WEB_LINK = /^\s*h[tx*_]{2}ps?:/i;

/**
 * Adds what follows the first link of a text, so that it can block the content. The content is then uncertain, unless only
 * further pages of the same host follow. A text that is no link as a whole opens the links in it.
 */
const withTextsBehind = (content: string, whole: Content): Content => {
  if (whole.code === 'internal-scheme') {
    // An internal address opens nothing else, but a reader may open what follows it.
    const blank = content.trim().search(/\s/);
    const isFollowed = blank !== -1 && !SCRIPT.test(content) && HAS_WEB_LINK.test(content.trim().slice(blank));
    const behind = isFollowed ? targetsIn(content).targets : [];
    return behind.length === 0 ? whole : withAlternatives(wholeText(content), behind, true);
  }
  const found = targetsIn(content);
  if (whole.parsed === undefined) {
    // Words with dots are no links. An account is certain to be one, because of its length or its checksum.
    if (!HAS_WEB_LINK.test(content) && found.targets.every(({ type }) => type !== 'ADDRESS')) return whole;
    const [first, ...others] = found.targets;
    if (first === undefined) return whole;
    if (others.length > 0) return withAlternatives(wholeText(content), found.targets, true);
    return withAlternatives(first, [], found.isUncertain || IS_WEB_LINK.test(content));
  }
  const known = [whole.parsed, ...(whole.parsed.alternatives ?? [])];
  const names = new Set(known.map(nameOf));
  const others = found.targets.filter(
    (one) => !known.some((other) => isSame(one, other)) && !(one.isBegin && names.has(nameOf(one))),
  );
  if (others.length === 0 && !found.isUncertain) return whole;
  const isUncertain = found.isUncertain || others.some((one) => !names.has(nameOf(one)));
  return withAlternatives(whole.parsed, others, isUncertain);
};
