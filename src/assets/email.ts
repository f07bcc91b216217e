import { parseLocation } from './location.js';
import { decodeOnce } from './copied-text.js';

/** Hosts where anybody can have a mailbox, so that the status of the host does not apply to a mailbox. */
const MAIL_HOSTS: ReadonlySet<string> = new Set(
  `
  gmail.com googlemail.com outlook.com hotmail.com hotmail.co.uk hotmail.fr hotmail.de live.com msn.com yahoo.com
  yahoo.co.uk yahoo.co.jp yahoo.fr yahoo.de ymail.com rocketmail.com aol.com icloud.com me.com mac.com proton.me
  protonmail.com pm.me tutanota.com tutamail.com tuta.io zoho.com zohomail.com fastmail.com hey.com mail.com gmx.com
  gmx.de gmx.net web.de t-online.de freenet.de yandex.com yandex.ru mail.ru bk.ru inbox.ru list.ru rambler.ru
  qq.com foxmail.com 163.com 126.com sina.com naver.com daum.net hanmail.net rediffmail.com orange.fr laposte.net
  free.fr libero.it seznam.cz wp.pl o2.pl onet.pl uol.com.br bol.com.br terra.com.br comcast.net verizon.net att.net
  mailinator.com guerrillamail.com temp-mail.org yopmail.com
`
    .trim()
    .split(/\s+/),
);

export const hostsMailboxes = (host: string): boolean => MAIL_HOSTS.has(host);

/** A mailbox with a display name: `Name <someone@host>`. */
const MAILBOX = /^[^<>]{0,256}<([^<>\s]{3,320})>$/;
const EMAIL = /^([^\s@"<>()[\],;:\\/?#]{1,64})@([^\s@/?#:[\]()]{1,255})$/;
const MAILTO = /^mailto:(?:\/\/)?([^?#]*)(?:\?([^#]*))?/i;
/** What stands between recipients: a comma (RFC 6068), or a semicolon, as some programs write. */
const BETWEEN_RECIPIENTS = /[,;]/;
/** A mailbox behind the scheme of an app, and what follows the mailbox. */
const SCHEMED = /^([a-z][a-z0-9+.-]{0,31}):(?:\/\/)?([^\s:/?#,;]{1,64}@[^\s:/?#,;]{1,255})(?:[,;?/#](.*))?$/is;
const SCHEME = /^[a-z][a-z0-9+.-]{0,31}:(?:\/\/)?/i;
/** Schemes of apps that call, write to or pay a mailbox. In other texts, a user may stand before a password. */
const REACHES_MAILBOXES =
  /^(?:lightning|lnurl[a-z]?|keyauth|paymail|bitcoin|xmpp|sips?|im|pres|acct|skype|msnim|ymsgr|gtalk|aim|jabber|facetime(?:-audio)?|imessage|callto|ms-?teams|web\+\w+)$/i;
/** Maximum number of recipients of a link. */
const MAX_RECIPIENTS = 20;

/** The recipients of a mail. */
interface Recipients {
  /** Addresses in lower case with a normalized host; empty if none of the recipients of a link can be read. */
  readonly emails: readonly string[];
  /** False if a recipient cannot be read. */
  readonly isUnderstood: boolean;
}

/**
 * Parses an e-mail address, a text of several or a `mailto:` link (RFC 6068). Several without such a link are not
 * understood.
 * @returns undefined if the text has no e-mail address and is no such link
 */
export const readRecipients = (text: string): Recipients | undefined => {
  const [link, to = '', query = ''] = MAILTO.exec(text) ?? [];
  if (link !== undefined) return recipientsOfLink(to, query);
  const schemed = mailboxBehindScheme(text);
  const email = readEmail(text) ?? (schemed?.isCertain === true ? schemed.email : undefined);
  const emails = mailboxesIn(text);
  // Words before one mailbox are a sentence.
  const isOneOfSeveral = email === undefined && emails.length === 1 && BETWEEN_RECIPIENTS.test(text);
  if (emails.length > 1 || isOneOfSeveral) return { emails, isUnderstood: false };
  return email === undefined ? undefined : { emails: [email], isUnderstood: schemed?.isUnderstood !== false };
};

const recipientsOfLink = (to: string, query: string): Recipients => {
  // A plus sign is part of a mailbox, and no blank.
  const fields = [...new URLSearchParams(query.replaceAll('+', '%2B'))].flatMap(([name, value]) =>
    /^(?:to|cc|bcc)$/i.test(name) ? [value] : [],
  );
  const written = [decodeOnce(to), ...fields]
    .flatMap((list) => list.split(BETWEEN_RECIPIENTS))
    .filter((one) => one.trim() !== '');
  const emails = new Set(written.slice(0, MAX_RECIPIENTS).flatMap((one) => readEmail(one.trim()) ?? []));
  return { emails: [...emails], isUnderstood: emails.size > 0 && emails.size === written.length };
};

/**
 * Returns the mailboxes between white space, commas and semicolons, without repetitions; none if the text has no such
 * separator. What follows a host, such as a path, is not read.
 */
const mailboxesIn = (text: string): readonly string[] => {
  const [names = ''] = text.replace(SCHEME, '').split(/[/?#]/, 1);
  const parts = names.split(/[\s,;]+/).filter((part) => part !== '');
  if (parts.length < 2) return [];
  const mailboxes = parts.filter((part) => part.includes('@')).slice(0, MAX_RECIPIENTS);
  return [...new Set(mailboxes.flatMap((part) => readEmail(part) ?? []))];
};

/**
 * Parses a mailbox behind the scheme of an app: `lightning:someone@host`. It is certain to be one if the scheme is known,
 * and understood if neither a link nor another mailbox follows it.
 */
export const mailboxBehindScheme = (
  text: string,
): { readonly email: string; readonly isCertain: boolean; readonly isUnderstood: boolean } | undefined => {
  const [, scheme = '', mailbox = '', rest = ''] = SCHEMED.exec(text) ?? [];
  const email = readEmail(mailbox);
  const isCertain = REACHES_MAILBOXES.test(scheme);
  return email === undefined ? undefined : { email, isCertain, isUnderstood: !/[:@]|%3a|%40/i.test(rest) };
};

/** @returns the address in lower case with a normalized host; undefined if the text is not an e-mail address */
const readEmail = (text: string): string | undefined => {
  // The sign of Bitcoin marks a name that can be paid (BIP-353).
  const plain = text.replace(/^₿\s*/, '');
  const parts = EMAIL.exec(plain) ?? EMAIL.exec(MAILBOX.exec(plain)?.[1] ?? '');
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
