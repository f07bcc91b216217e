/** Patterns for links in markup, such as Markdown, HTML and BBCode. */
const TARGET = String.raw`((?:[^\s<>()]|\([^\s<>()]*\))+)`;
const WEB = String.raw`h[tx*_]{2}ps?(?::|\[:|%)`;
const MARKUP_PATTERNS: readonly RegExp[] = [
  // Markdown: [text](https://…), also for images. Only the target matters.
  new RegExp(String.raw`^[^\p{L}\p{N}[]{0,16}\[[^]*?\]\(\s*<?${TARGET}`, 'u'),
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
const MAY_BE_MARKUP = /[[<]|^[\s("'\u201c]{0,16}ur[li]:/i;
/** Whether a matched text can be a target. The test excludes the defanged dot `[.](`. */
const isTarget = (text: string): boolean => text.includes('%') || (/[.:]/.test(text) && /[\p{L}\p{N}]/u.test(text));

/** Returns the target of the link if the text is a link in markup. */
export const linkInMarkup = (sent: string): string | undefined => {
  if (!MAY_BE_MARKUP.test(sent)) return undefined;
  for (const notation of MARKUP_PATTERNS) {
    const link = notation.exec(sent)?.[1];
    if (link !== undefined && isTarget(link)) return link;
  }
  return undefined;
};

/** Matches a link that is percent-encoded as a whole, up to seven times. */
export const ENCODED_LINK =
  /^(?:[a-z][a-z0-9+.*_-]{0,63}(?:%(?:25){0,6}3a|:\/?%(?:25){0,6}2f)|%(?:25){0,6}2f|(?:https?:\/\/)?[\w.-]{1,253}%(?:25){0,6}(?:2f|3a))/i;

/** Percent-decodes once. If an escape is invalid, only escapes of ASCII characters are decoded. */
export const decodeOnce = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text.replace(/%([2-7][0-9a-f])/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  }
};
