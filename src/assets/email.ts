import { parseLocation } from './location.js';
import { cleanUser, decodeOnce } from './copied-text.js';

/** Hosts where anybody can have a mailbox, so that the status of the host does not apply to a mailbox. */
const MAIL_HOSTS: ReadonlySet<string> = new Set(
  `
  gmail.com googlemail.com outlook.com hotmail.com live.com msn.com windowslive.com yahoo.com ymail.com rocketmail.com
  myyahoo.com aol.com aim.com icloud.com me.com mac.com privaterelay.appleid.com proton.me protonmail.com protonmail.ch
  pm.me tuta.com tuta.io tutanota.com tutanota.de tutamail.com keemail.me zoho.com zoho.eu zohomail.com zohomail.eu
  fastmail.com fastmail.fm hey.com duck.com mozmail.com mail.com email.com usa.com hushmail.com mailfence.com runbox.com
  startmail.com riseup.net disroot.org gmx.com gmx.net web.de t-online.de freenet.de arcor.de mail.de posteo.de
  mailbox.org yandex.com ya.ru narod.ru mail.ru bk.ru inbox.ru list.ru internet.ru rambler.ru ukr.net i.ua meta.ua
  mail.ee inbox.lv abv.bg qq.com vip.qq.com foxmail.com 163.com 126.com yeah.net 139.com 189.cn sina.com sina.cn sohu.com
  aliyun.com naver.com daum.net hanmail.net nate.com docomo.ne.jp ezweb.ne.jp softbank.ne.jp rediffmail.com orange.fr
  wanadoo.fr laposte.net free.fr sfr.fr neuf.fr libero.it virgilio.it tiscali.it alice.it tin.it bluewin.ch telenet.be
  skynet.be ziggo.nl planet.nl hetnet.nl kpnmail.nl seznam.cz email.cz centrum.cz post.cz azet.sk wp.pl o2.pl onet.pl
  interia.pl freemail.hu citromail.hu sapo.pt uol.com.br bol.com.br terra.com.br ig.com.br comcast.net verizon.net att.net
  sbcglobal.net bellsouth.net cox.net charter.net earthlink.net optonline.net juno.com shaw.ca rogers.com sympatico.ca
  btinternet.com sky.com virginmedia.com talktalk.net bigpond.com optusnet.com.au xtra.co.nz mailinator.com
  guerrillamail.com sharklasers.com temp-mail.org trashmail.com yopmail.com
`
    .trim()
    .split(/\s+/),
);
/** The other domains on which providers have mailboxes: the name of a provider, then its domains. */
const NATIONAL_DOMAINS = `
  outlook de fr es it at be cl cz dk hu ie in kr lv my ph pt sa sg sk jp com.ar com.au com.br com.gr com.tr com.vn co.id co.il co.th
  hotmail co.uk fr de it es nl be se no dk fi gr ch at ca cl com.ar com.au com.br com.tr co.jp co.kr co.th co.za co.il
  live co.uk fr de it nl be se no dk at ca cl cn in jp ie ru com.ar com.au com.mx com.my com.pt com.sg co.kr co.za
  yahoo co.uk fr de it es ie gr ca se dk no pl ro at be in cn com.br com.ar com.au com.cn com.hk com.mx com.my com.ph com.sg com.tr com.tw com.vn co.id co.in co.jp co.kr co.nz co.th co.za
  gmx de at ch fr es it co.uk us
  aol de fr co.uk it es jp com.au com.br
  yandex ru by kz ua com.tr uz tj az ee fr lt lv md tm kg com.am com.ge
`;
const NATIONAL_MAIL_HOSTS: ReadonlySet<string> = new Set(
  NATIONAL_DOMAINS.trim()
    .split('\n')
    .flatMap((row) => {
      const [provider, ...domains] = row.trim().split(' ');
      return domains.map((domain) => `${provider}.${domain}`);
    }),
);

export const hostsMailboxes = (host: string): boolean => MAIL_HOSTS.has(host) || NATIONAL_MAIL_HOSTS.has(host);

/** A mailbox with a display name: `Name <someone@host>`. */
const MAILBOX = /^[^<>]{0,256}<([^<>\s]{3,320})>$/;
const EMAIL = /^([^\s@"<>()[\],;:\\/?#]{1,64})@([^\s@/?#:[\]()]{1,255})$/;
const MAILTO = /^mailto:(?:\/\/)?([^?#]*)(?:\?([^#]*))?/i;
/** What stands between recipients: a comma (RFC 6068), or a semicolon, as some programs write. */
const BETWEEN_RECIPIENTS = /[,;]/;
/** A part of a list of recipients. What stands in quotes is not split. */
const LISTED = /(?:"[^"]*"|[^,;])+/g;
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
  const written = [decodeOnce(to), ...fields].flatMap(partsOfRecipients);
  const read = written.slice(0, MAX_RECIPIENTS).map((parts) => ({
    whole: readEmail(parts.join(',').trim()),
    last: readEmail(parts.at(-1)!.trim()),
  }));
  const emails = new Set(read.flatMap(({ whole, last }) => whole ?? last ?? []));
  const isUnderstood = written.length <= MAX_RECIPIENTS && read.every(({ whole }) => whole !== undefined);
  return { emails: [...emails], isUnderstood: isUnderstood && emails.size > 0 };
};

/**
 * Returns the parts of each recipient in a list. A part without an @ may be the start of a display name, as in
 * `Doe, Jane <someone@host>`, or a recipient of its own.
 */
const partsOfRecipients = (list: string): string[][] => {
  const recipients: string[][] = [[]];
  for (const part of list.match(LISTED) ?? []) {
    if (part.trim() === '') continue;
    recipients.at(-1)!.push(part);
    if (part.includes('@')) recipients.push([]);
  }
  return recipients.filter(({ length }) => length > 0);
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
  const [, scheme = '', mailbox = '', rest = ''] = SCHEMED.exec(cleanUser(text, '@')) ?? [];
  const email = readEmail(mailbox);
  const isCertain = REACHES_MAILBOXES.test(scheme);
  return email === undefined ? undefined : { email, isCertain, isUnderstood: !/[:@]|%3a|%40/i.test(rest) };
};

/** @returns the address in lower case with a normalized host; undefined if the text is not an e-mail address */
const readEmail = (text: string): string | undefined => {
  // The sign of Bitcoin marks a name that can be paid (BIP-353).
  const plain = cleanUser(text, '@').replace(/^₿\s*/, '');
  const parts = EMAIL.exec(plain) ?? EMAIL.exec(MAILBOX.exec(plain)?.[1] ?? '');
  if (!parts) return undefined;
  const location = parseLocation(parts[2]!);
  return location?.isName ? mailbox(parts[1]!.toLowerCase().normalize('NFC'), location.host) : undefined;
};

/** Normalizes a mailbox. Gmail ignores dots in the name, and everything after a plus sign. */
const mailbox = (name: string, host: string): string => {
  if (host !== 'gmail.com' && host !== 'googlemail.com') return `${name}@${host}`;
  const plain = name.replace(/\+.*$/, '').replaceAll('.', '');
  return `${plain === '' ? name : plain}@gmail.com`;
};
