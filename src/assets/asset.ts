import { createHash } from 'node:crypto';
import { limit } from '../limits.js';

/** An asset to check, block or group, as reported. */
export interface Asset {
  readonly type: string;
  readonly content: string;
}

/**
 * The version must be incremented if the key of any valid content changes. Read models that store keys are then
 * rebuilt. `test/assets/pinned-keys.json` has keys of this version. Stored events carry their keys: without a new version,
 * a rebuild keeps the keys that the events were stored with.
 */
export const KEY_VERSION = 7;

export const urlKey = (host: string): string => `URL:${host}`;
export const addressKey = (key: string): string => `ADDRESS:${key}`;

/** Returns the first 128 bits of the SHA-256 of a key, in hex. */
export const hashOfKey = (key: string): string => createHash('sha256').update(key).digest('hex').slice(0, 32);

/** Maximum length of content in Unicode code points. */
const MAX_LENGTH = limit('content', 4_096, 'characters', 'value', '400');

/** Returns why content cannot be checked or grouped; undefined if the content is valid. */
export const contentIssue = (content: unknown): string | undefined => {
  if (typeof content !== 'string' || content === '') return 'Content is required';
  // Counting code points is expensive, so they are counted only if the number of UTF-16 units does not decide.
  if (content.length > MAX_LENGTH && (content.length > 2 * MAX_LENGTH || Array.from(content).length > MAX_LENGTH))
    return `Content must be at most ${MAX_LENGTH} characters`;
  return undefined;
};

/** Content parsed as an asset. */
export interface ParsedContent {
  readonly type: string;
  /** The normalized content, such as a host, an account or a profile name. */
  readonly name: string;
  /** The keys under which exactly this asset may be stored, most specific first. */
  readonly keys: readonly string[];
  /** Further keys, whose status has an effect only if the status is BLOCKED. */
  readonly blockingKeys?: readonly string[];
  /** The names of the pages above a page that a parameter names. */
  readonly pagesAbove?: readonly string[] | undefined;
  /** The host on which the asset is. */
  readonly host?: string;
  /** The number of characters of the page's name that no parent page is shorter than. */
  readonly pageRoot?: number;
  /** Whether anybody can publish on the host, so that the status of the host does not apply to the asset. */
  readonly isSharedHost: boolean;
  /** Whether the host has parent domains. */
  readonly isDnsName: boolean;
  /** Whether the asset is on the host instead of being the host. Such an asset inherits the status of the host. */
  readonly isOnHost: boolean;
  /** The key of the account without its tag. */
  readonly account?: string;
  /** The text that names the asset, if it is not the whole content. */
  readonly opened?: string;
  /** True if the content may open something that was not understood. An ALLOWED status then has no effect. */
  readonly isUncertain?: boolean;
  /** What the content may open instead. The content is ALLOWED only if all of it is ALLOWED. */
  readonly alternatives?: readonly ParsedContent[];
  /** What takes part without being opened, such as the carrier of a link. Only its status BLOCKED has an effect. */
  readonly carriers?: readonly ParsedContent[];
}

/** An internal address, which is recognized but not checked. */
interface InternalAddress {
  readonly type: string;
  readonly name: string;
}

export type Content =
  | { readonly parsed: ParsedContent; readonly code?: undefined; readonly internalAddress?: undefined }
  | { readonly parsed?: undefined; readonly code: 'parse-error'; readonly internalAddress?: undefined }
  | { readonly parsed?: undefined; readonly code: 'internal-scheme'; readonly internalAddress: InternalAddress };

export const PARSE_ERROR: Content = { code: 'parse-error' };

export const internalContent = (name: string): Content => ({
  code: 'internal-scheme',
  internalAddress: { type: 'URL', name },
});

const NO_HOST = { host: undefined, isSharedHost: false, isDnsName: false, isOnHost: false, account: undefined };

export const assetWithoutHost = (type: string, name: string): ParsedContent => ({
  ...NO_HOST,
  type,
  name,
  keys: [`${type}:${name}`],
});
