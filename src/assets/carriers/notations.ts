/** A link carried in another notation: what copying a link from a page, a message or a document leaves around it. */
const TARGET = String.raw`((?:[^\s<>()]|\([^\s<>()]*\))+)`;
const WEB = String.raw`h[tx*_]{2}ps?(?::|\[:|%)`;
const NOTATIONS: readonly RegExp[] = [
  // Markdown: [text](https://…), also of an image. Whatever the text says, the target is opened.
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
const MAY_BE_NOTATION = /[[<]|^[\s("'\u201c]{0,16}ur[li]:/i;
/** What a target must have to be one: `[.](` is a defanged dot. */
const isTarget = (text: string): boolean => text.includes('%') || (/[.:]/.test(text) && /[\p{L}\p{N}]/u.test(text));

/** The link in a copied text that has such a notation. */
export const inNotation = (sent: string): string | undefined => {
  if (!MAY_BE_NOTATION.test(sent)) return undefined;
  for (const notation of NOTATIONS) {
    const link = notation.exec(sent)?.[1];
    if (link !== undefined && isTarget(link)) return link;
  }
  return undefined;
};

/** A link that is percent-encoded as a whole, up to as often as is followed. */
export const ENCODED =
  /^(?:[a-z][a-z0-9+.*_-]{0,63}(?:%(?:25){0,6}3a|:\/?%(?:25){0,6}2f)|%(?:25){0,6}2f|(?:https?:\/\/)?[\w.-]{1,253}%(?:25){0,6}(?:2f|3a))/i;

/** Decodes once. A broken escape leaves those beyond ASCII as they are. */
export const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text.replace(/%([2-7][0-9a-f])/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  }
};
