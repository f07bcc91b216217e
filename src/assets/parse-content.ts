import { linksBehindWhiteSpace } from './carriers/markup.js';
import { type FollowedText, followLinks } from './carriers/follow-links.js';
import { locationAsset, locationContent } from './location-asset.js';
import { isBlank, type Location, parsePlainLocation, trimLikeUrlParser } from './location.js';
import { parseText } from './parse-text.js';
import { assetWithoutHost, type Content, type ParsedContent, PARSE_ERROR } from './parsed-content.js';

/**
 * Parses content: a URL, a host, an IP address, a wallet address, a profile link or handle, an e-mail address or IPFS
 * content, in any common spelling. Takes time proportional to the length of the content.
 */
export const parseContent = (content: string): Content => {
  const plain = isBlank(content.charCodeAt(content.length - 1)) ? undefined : parsePlainLocation(content);
  const sent = plain === undefined ? trimLikeUrlParser(content) : content;
  const followed = followLinks(sent, plain);
  const parsed = followed === undefined ? parseWhole(sent, plain) : parseFollowed(content, followed);
  // A host without a path has no room for a second link.
  return plain?.rest === '' ? parsed : withLinksBehind(content, parsed);
};

const parseWhole = (sent: string, plain: Location | undefined): Content =>
  plain === undefined || endsInPunctuation(sent) ? parseText(sent) : (locationContent(plain) ?? PARSE_ERROR);

/** Whether the text may have been copied with the end of a sentence. */
const endsInPunctuation = (text: string): boolean => /[^\w/=&%#~-]$/.test(text);

/**
 * Combines what a text may open. If it is unknown which of several assets is opened, the text itself is the asset, and
 * each of them can only block it.
 */
const parseFollowed = (content: string, { targets, carriers, isUnderstood }: FollowedText): Content => {
  const contents = targets.map((target) => ({ target, ...parseText(target) }));
  const [only] = contents;
  if (
    contents.length === 1 &&
    (only!.code === 'internal-scheme' || (only!.code !== undefined && carriers.length === 0))
  )
    return only!;
  const opened = new Map<string, ParsedContent>();
  for (const { target, parsed } of contents)
    if (parsed !== undefined) opened.set(`${parsed.type}:${parsed.name}`, { ...parsed, opened: target });
  const isUncertain =
    !isUnderstood || contents.some(({ code, parsed }) => code !== undefined || parsed.isUncertain === true);
  const [first, ...others] = opened.values();
  if (first === undefined && carriers.length === 0) return PARSE_ERROR;
  const isClear = first !== undefined && (others.length === 0 || !isUncertain);
  const asset = isClear ? first : assetWithoutHost('URL', content.trim());
  const alternatives = isClear ? others : [...opened.values()];
  return {
    parsed: {
      ...asset,
      isUncertain,
      alternatives: [
        ...(asset.alternatives ?? []),
        ...alternatives.flatMap((one) => [one, ...(one.alternatives ?? [])]),
      ],
      carriers: [...carriers.map(locationAsset), ...[...opened.values()].flatMap((one) => one.carriers ?? [])],
    },
  };
};

/**
 * Adds the links that follow the first one after white space, so that they can block the content. If the white space is
 * in the host of the first link, the first link ends there.
 */
const withLinksBehind = (content: string, whole: Content): Content => {
  if (whole.code === 'internal-scheme' || !content.includes('://', 8)) return whole;
  const links = linksBehindWhiteSpace(content);
  if (links.length === 0) return whole;
  const isSplit = whole.parsed === undefined;
  if (isSplit && !/^h[tx]{2}ps?:/i.test(content.trim())) return whole;
  const read = (link: string): readonly ParsedContent[] => {
    const { parsed } = parseText(link);
    return parsed === undefined || parsed.name === whole.parsed?.name ? [] : [{ ...parsed, opened: link }];
  };
  const behind = [content.trim().split(/\s/, 1)[0]!, ...links].flatMap(read);
  if (behind.length === 0) return whole;
  const asset = whole.parsed ?? assetWithoutHost('URL', content.trim());
  return { parsed: { ...asset, isUncertain: true, alternatives: [...(asset.alternatives ?? []), ...behind] } };
};
