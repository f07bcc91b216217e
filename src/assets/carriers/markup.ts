/** Patterns for links in markup, such as Markdown, HTML and BBCode. The first that matches finds the first link. */
const TARGET = String.raw`((?:[^\s<>()]|\([^\s<>()]*\))+)`;
const WEB = String.raw`h[tx*_]{2}ps?(?::|\[:|%)`;
const MARKUP_PATTERNS: readonly RegExp[] = [
  // Markdown: [text](https://…), also for images. Only the target matters.
  new RegExp(String.raw`^(?:\d{1,9}[.)]\s)?[^\p{L}\p{N}[]{0,16}\[[^]*?\]\(\s*<?${TARGET}`, 'u'),
  // Markdown: [label]: https://…
  new RegExp(String.raw`^\[[^\]]*\]:\s*<?(${WEB}[^\s<>]+)`, 'i'),
  // RFC 3986, appendix C: <URL:https://…>
  /^[\s<("'\u201c]{0,16}ur[li]:\s*([^\s<>"]+)/i,
  // Chats: <https://…|text>
  /^\s*<([^\s|<>]+)\|[^<>]*>/,
  /^\s*<a\s[^<>]*?\bhref\s*=\s*["']?([^\s"'<>]+)/i,
  // Forums: [url=https://…], [url]https://…[/url]
  /^\[url=["']?([^\s"'\]]+)/i,
  /^\[url\]([^\s]+?)\[\/url\]/i,
  // Wikis and outlines: [[https://…][text]], [https://… text], [text|https://…]
  /^\[\[([^\s\]|]+)[\]|]/,
  new RegExp(String.raw`^\[(${WEB}[^\s\]]+)\s[^\]]*\]`, 'i'),
  new RegExp(String.raw`^\[[^\]|]*\|(${WEB}[^\s\]]+)\]`, 'i'),
  // Mail: text <https://…>
  new RegExp(String.raw`^[^<>]*<(?:url:)?(${WEB}[^\s<>]+)>`, 'i'),
];
/**
 * The places of further links: the target of Markdown, an attribute, a tag of a forum, and a web address after white
 * space or in quotes.
 */
const FURTHER_LINKS: readonly RegExp[] = [
  new RegExp(String.raw`\]\(\s*<?${TARGET}`, 'gu'),
  /\bhref\s*=\s*["']?([^\s"'<>]+)/gi,
  /\[url[=\]]\s?["']?([^\s"'[\]]+)/gi,
  new RegExp(String.raw`(?<=[\s"'])(${WEB}[^\s<>()"']+)`, 'gi'),
];
/** Maximum number of links that are read in one text. */
const MAX_LINKS = 4;
const MAY_BE_MARKUP = /[[<]|^[\s("'\u201c]{0,16}ur[li]:/i;
/** Whether a matched text can be a target. The test excludes the defanged dot `[.](`. */
const isTarget = (text: string): boolean => text.includes('%') || (/[.:]/.test(text) && /[\p{L}\p{N}]/u.test(text));

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', colon: ':', period: '.', sol: '/', commat: '@' };
/** Decodes the character references of HTML that can hide a link. */
const withoutEntities = (text: string): string =>
  text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(amp|colon|period|sol|commat));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return ENTITIES[String(name).toLowerCase()]!;
    const code = decimal === undefined ? Number.parseInt(String(hex), 16) : Number(decimal);
    return code <= 0x10_ff_ff ? String.fromCodePoint(code) : String(whole);
  });

/** Attributes of HTML that are shown and not opened. */
const SHOWN_TEXT = /(?<=\s)(?:title|alt|aria-label)\s{0,8}=\s{0,8}(?:"[^"]*"|'[^']*')/gi;

/** Returns the targets of the links if the text is a link in markup, without repetitions; otherwise no targets. */
export const linksInMarkup = (text: string): readonly string[] => {
  if (!MAY_BE_MARKUP.test(text)) return [];
  const sent = text.includes('=') ? text.replace(SHOWN_TEXT, '') : text;
  for (const notation of MARKUP_PATTERNS) {
    const first = notation.exec(sent)?.[1];
    if (first === undefined || !isTarget(first)) continue;
    const links = [first];
    for (const pattern of FURTHER_LINKS)
      for (const [, link] of sent.matchAll(pattern)) {
        if (links.length > MAX_LINKS) break;
        if (link !== undefined && isTarget(link)) links.push(link);
      }
    return [...new Set(links.map(withoutEntities))];
  }
  return [];
};

/** Matches a link that is percent-encoded as a whole, up to seven times. */
export const ENCODED_LINK =
  /^(?:[a-z][a-z0-9+.*_-]{0,63}(?:%(?:25){0,6}3a|:\/?%(?:25){0,6}2f)|%(?:25){0,6}2f|(?:https?:\/\/)?[\w.-]{1,253}%(?:25){0,6}(?:2f|3a))/i;

/** What ends a link: white space, a control character and markup; behind a web link also punctuation. */
const END = String.raw`\s\p{Cc}<>`;
const TEXTS = new RegExp(`[^${END}]+`, 'gu');
const TEXTS_BEHIND_LINK = new RegExp(`[^${END},;"'\`|]+`, 'gu');
const HAS_END = new RegExp(`[${END},;"'\`|]|\\]\\(`, 'u');
/** Punctuation and what follows it without a space. */
const IS_WITHIN_LINK = new RegExp(`^[,;"'\`|][^${END},;"'\`|]`, 'u');
/** The begin of a web link behind a letter or a sign of a script that is written without spaces. */
const BEHIND_CJK =
  /(?=h[tx*_]{2}ps?(?::\/\/|\[:))(?<=[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\u3001-\u303f\uff01-\uffee])/giu;
const STARTS_AS_LINK = /^[\s"'`(]{0,16}(?:h[tx*_]{2}ps?(?::|\[:)|[\w.-]{1,253}(?:[/?#,;]|$))/i;
/** The part of a text that may be a target, without the name of a field before a web address. */
const FIELD = new RegExp(String.raw`^[\w.;+-]{1,64}[:=](?=${WEB})`, 'i');
const MAY_BE_TARGET = /[.:@]|^\W?[\w-]{25,}\W?$/;
/** Names of files, whose ends are no top-level domains, and numbers that are no IP address. */
const NO_TARGET =
  /^(?:[\w.%~-]+\.(?:aspx?|avif|css|csv|docx?|gif|html?|ico|jpe?g|js|json|jsp|mp3|pdf|php\d?|png|pptx?|svg|txt|webp|xlsx?|xml)(?:[?#].*)?|(?!\d+(?:\.\d+){3}$)[+-]?\d[\d.:+-]*[a-z]{0,2})$/i;
/** Maximum number of texts that are looked at, and of those that are parsed. */
const MAX_TEXTS = 64;

/** A part of a text that may be a target. */
export interface TextPart {
  readonly text: string;
  /** Whether more follows without a space, so that the part may be the begin of a longer link. */
  readonly isBegin: boolean;
}

/** The parts of a text that may each be a target. */
export interface TextParts {
  readonly parts: readonly TextPart[];
  /** Whether there are more parts than are read. */
  readonly hasMore: boolean;
}

/**
 * Splits a text where a link may end. Of a text that begins with markup, only what follows the markup is split.
 * @returns undefined if nothing follows the first link
 */
export const partsOfText = (content: string, isMessage = false): TextParts | undefined => {
  const trimmed = content.trim().replace(BEHIND_CJK, ' ');
  if (!HAS_END.test(trimmed)) return undefined;
  const markup = /^[<[]/.test(trimmed) ? /[>)\]](?=[^>)\]]*$)/.exec(trimmed) : null;
  const text = (markup === null ? trimmed : trimmed.slice(markup.index + 1)).replaceAll('](', ' ');
  const found: TextPart[] = [];
  let looked = 0;
  for (const { 0: one, index } of text.matchAll(isMessage || STARTS_AS_LINK.test(text) ? TEXTS_BEHIND_LINK : TEXTS)) {
    looked += 1;
    const target = one.replace(FIELD, '');
    if (MAY_BE_TARGET.test(target) && !NO_TARGET.test(target))
      found.push({
        text: target,
        isBegin: IS_WITHIN_LINK.test(text.slice(index + one.length, index + one.length + 2)),
      });
    if (looked === MAX_TEXTS || found.length > MAX_LINKS) break;
  }
  return { parts: found.slice(0, MAX_LINKS), hasMore: looked === MAX_TEXTS || found.length > MAX_LINKS };
};
