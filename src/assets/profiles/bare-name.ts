import { type ReadName } from './site.js';
import { phone, withoutPeriods } from './sites.js';

const withoutAt = (text: string): string => (text.startsWith('@') ? text.slice(1) : text);

/**
 * Functions that normalize the names of types with special rules. For other types, a leading `@` is removed and the
 * name is changed to lower case.
 */
const NORMALIZERS: Readonly<Record<string, (text: string) => string>> = {
  WHATSAPP: (text) => phone(text) ?? withoutAt(text),
  DISCORD: withoutAt,
  FACEBOOK: (text) => {
    const name = withoutAt(text).toLowerCase();
    return name.includes('/') ? name : (withoutPeriods(name) ?? name);
  },
  GOOGLE_APP_STORE: withoutAt,
  APPLE_APP_STORE: (text) => text.replace(/^id(?=\d)/i, ''),
  TELEGRAM: (text) => (text.startsWith('+') ? text : withoutAt(text).toLowerCase()),
  REDDIT: (text) => readReddit(text) ?? withoutAt(text).toLowerCase(),
  YOUTUBE: (text) => {
    const [, channel] = /^(?:channel\/)?(UC[\w-]{22})$/.exec(text) ?? [];
    if (channel !== undefined) return `channel/${channel}`;
    return /^(?:@|c\/|user\/)/i.test(text) ? text.toLowerCase() : `@${text.toLowerCase()}`;
  },
};

/** Normalizes a profile name that is not a link. */
export const profileName = (type: string, text: string): string =>
  NORMALIZERS[type]?.(text) ?? withoutAt(text).toLowerCase();

/** Parses Reddit's short form: `u/NAME`, `r/NAME`. */
export const readReddit: ReadName = (text) => {
  const [, kind, name] = /^\/?(u|user|r)\/([\w-]{2,32})$/i.exec(text) ?? [];
  return kind === undefined ? undefined : `${kind[0]!.toLowerCase()}/${name!.toLowerCase()}`;
};
