import { parseLocation } from './location.js';
import { decodeOnce } from './text/percent.js';

/** A mailbox with a display name: `Name <someone@host>`. */
const MAILBOX = /^[^<>]{0,256}<([^<>\s]{3,320})>$/;
const EMAIL = /^([^\s@"<>()[\],;:\\/?#]{1,64})@([^\s@/?#:[\]()]{1,255})$/;
const MAILTO = /^mailto:([^?#]*)(?:\?([^#]*))?/i;
/** Maximum number of recipients of a link. */
const MAX_RECIPIENTS = 20;

/** The recipients of a mail. */
export interface Recipients {
  /** Addresses in lower case with a normalized host. */
  readonly emails: readonly string[];
  /** False if a recipient cannot be read. */
  readonly isUnderstood: boolean;
}

/** Parses an e-mail address or a `mailto:` link (RFC 6068). @returns undefined if the text has no e-mail address */
export const readRecipients = (text: string): Recipients | undefined => {
  const [link, to = '', query = ''] = MAILTO.exec(text) ?? [];
  if (link === undefined) {
    const email = readEmail(text);
    return email === undefined ? undefined : { emails: [email], isUnderstood: true };
  }
  const fields = [...new URLSearchParams(query)].flatMap(([name, value]) =>
    /^(?:to|cc|bcc)$/i.test(name) ? value.split(',') : [],
  );
  const written = [...to.split(',').map(decodeOnce), ...fields].filter((one) => one.trim() !== '');
  const emails = new Set(written.slice(0, MAX_RECIPIENTS).flatMap((one) => readEmail(one.trim()) ?? []));
  if (emails.size === 0) return undefined;
  return { emails: [...emails], isUnderstood: emails.size === written.length };
};

/** @returns the address in lower case with a normalized host; undefined if the text is not an e-mail address */
const readEmail = (text: string): string | undefined => {
  const parts = EMAIL.exec(text) ?? EMAIL.exec(MAILBOX.exec(text)?.[1] ?? '');
  if (!parts) return undefined;
  const location = parseLocation(parts[2]!);
  return location?.isName ? mailbox(parts[1]!.toLowerCase(), location.host) : undefined;
};

/** Normalizes a mailbox. Gmail ignores dots in the name, and everything after a plus sign. */
const mailbox = (name: string, host: string): string => {
  if (host !== 'gmail.com' && host !== 'googlemail.com') return `${name}@${host}`;
  const plain = name.replace(/\+.*$/, '').replaceAll('.', '');
  return `${plain === '' ? name : plain}@gmail.com`;
};
