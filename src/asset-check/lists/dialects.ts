import type { Rank } from './host-table.js';

/**
 * What a line of a dialect does with the hosts in its group `names`. A line that has the group `to` blocks them if the
 * address there blocks in a `hosts` list, and redirects them otherwise. One that has the group `exactly` concerns no host
 * below. A line that cancels removes the lines of a lower rank about the same hosts. The first group `zone` of a
 * document is what absolute names end in.
 */
type Action = 'block' | 'allow' | 'cancel' | 'unsupported' | 'ignore';

export interface Dialect {
  /** What its lines are, as a refusal says it. */
  readonly what: string;
  /** The forms of its lines; the first that matches counts. A line in none of them may still be a bare host. */
  readonly lines: readonly (readonly [form: RegExp, action: Action, rank?: Rank])[];
}

/** The options with which a rule still blocks the host as a whole; an exception for pop-ups exempts nothing else. */
const WHOLE = 'important|all|document|doc|popup';
const EXEMPTING = 'important|all|document|doc';
/** The options of the rules that a rule with `badfilter` cancels. */
const CANCELLING = 'all|document|doc|popup|badfilter';
/**
 * A rule about a host with any of the given options, and with one of them in particular. A single `|` at the start, with
 * a mark at the end, stands for exactly the host.
 */
const rule = (start: '' | '@@', options: string, one?: string): RegExp => {
  const list = `\\$(?=[a-z,]*${one ?? ''})(?:${options})(?:,(?:${options}))*`;
  const mark = `(?:\\|\\||(?<exactly>\\|)(?=[^$]*[\\^|](?:\\$|$)))`;
  return new RegExp(`^${start}${mark}(?<names>[^\\s/^$|~]+)\\^?\\|?${one === undefined ? `(?:${list})?` : list}$`);
};

/** The class and the time to live of a record, as master files have them (RFC 1035, 5.1). */
const RECORD = String.raw`\s+(?:(?:(?:\d+[smhdw])+|\d+|IN)\s+){0,2}`;
const named = (type: string): RegExp => new RegExp(String.raw`^(?<names>\S+)${RECORD}${type}$`, 'i');
/** A setting of dnsmasq for names. @param to what follows the names */
const setting = (names: string, to: string): RegExp =>
  new RegExp(String.raw`^(?:${names})\s*=\s*\/(?<names>[^\s=]+)\/${to}$`);

/** The dialects in which filter lists are published, besides `hosts` files. */
export const DIALECTS = {
  adblock: {
    what: 'rules of an ad blocker',
    lines: [
      [rule('@@', EXEMPTING, 'important'), 'allow', 2],
      [rule('@@', EXEMPTING), 'allow'],
      [rule('@@', CANCELLING, 'badfilter'), 'cancel', 1],
      [/^@@/, 'unsupported'],
      // Precedes exceptions, also those for the hosts below.
      [rule('', WHOLE, 'important'), 'block', 2],
      [rule('', WHOLE), 'block'],
      [rule('', CANCELLING, 'badfilter'), 'cancel', 1],
      [/^\|/, 'unsupported'],
      [/^[^\s#]*#@?[?$%]{0,2}@?#|^[^\s/]*\$@?\$|\^(?:\$|$)/, 'unsupported'],
      [/^\/.*\/(?:\$|$)/, 'unsupported'],
      [/^\[[^\]]*\]$/, 'ignore'],
    ],
  },
  dnsmasq: {
    what: 'settings of dnsmasq',
    lines: [
      [setting('server|rev-server', '#'), 'allow'],
      [setting('local|server', ''), 'block'],
      [setting('address', '#?'), 'block'],
      [setting('address|server', String.raw`(?<to>[^\s/]+)`), 'block'],
      [/^(?:ipset|nftset|address|server|local|rev-server|cname|host-record)\s*=/, 'unsupported'],
    ],
  },
  unbound: {
    what: 'settings of Unbound',
    lines: [
      [
        /^local-zone:\s*"?(?<names>[^\s"]+)"?\s+"?(?:always_(?:nxdomain|null|refuse|nodata|deny)|refuse|static|deny|inform_deny)"?$/,
        'block',
      ],
      [/^local-zone:\s*"?(?<names>[^\s"]+)"?\s+"?always_transparent"?$/, 'allow', 1],
      // What such a zone has no data for is resolved as usual.
      [/^local-zone:\s*"?(?<names>[^\s"]+)"?\s+"?(?:transparent|typetransparent|nodefault)"?$/, 'allow'],
      [
        new RegExp(String.raw`^local-data:\s*["']?(?<names>[^\s"']+)${RECORD}(?:A|AAAA)\s+(?<to>[^\s"']+)["']?$`, 'i'),
        'block',
        1,
      ],
      // The data of such a zone say whether it blocks or leads elsewhere; without data, `inform` only logs.
      [/^local-zone:\s*\S+\s+"?(?:redirect|inform_redirect|inform)"?$/, 'ignore'],
      [/^local-(?:zone|data)[a-z-]*:/, 'unsupported'],
      [/^server:$/, 'ignore'],
    ],
  },
  rpz: {
    what: 'records of a response policy zone',
    lines: [
      [/^\$ORIGIN\s+(?<zone>\S+)\.$/i, 'ignore'],
      [new RegExp(String.raw`^(?<zone>\S+)\.${RECORD}SOA\s`, 'i'), 'ignore'],
      [/^\$(?:TTL|ORIGIN)\b/i, 'ignore'],
      [/^\$(?:INCLUDE|GENERATE)\b/i, 'unsupported'],
      [/(?:^|\s)(?:SOA|NS)\s/i, 'ignore'],
      // Numbers and times of a record that is not closed.
      [/^[\d\s()smhdw]+$/i, 'ignore'],
      [/\.rpz-(?:ip|nsip|nsdname|client-ip)[.\s]/i, 'unsupported'],
      [named(String.raw`CNAME\s+rpz-passthru\.`), 'allow'],
      [named(String.raw`CNAME\s+(?:\.|\*\.|rpz-drop\.)`), 'block'],
      [named(String.raw`(?:A|AAAA|CNAME)\s+(?<to>\S+)`), 'block'],
      [new RegExp(String.raw`^\S+${RECORD}(?:TXT|MX|SRV|PTR)\s`, 'i'), 'unsupported'],
    ],
  },
} as const satisfies Record<string, Dialect>;

export type DialectName = keyof typeof DIALECTS;

/** Dialects whose lines continue in the next one until each `(` outside quotes is closed. */
export const WITH_PARENTHESES: ReadonlySet<string> = new Set<DialectName>(['rpz']);

/** Where a comment begins in each dialect. */
export const COMMENTS: Readonly<Record<DialectName, RegExp>> = {
  adblock: /(?:^|\s)[#!]/,
  dnsmasq: /(?:^|\s)[#!]/,
  unbound: /(?:^|\s)[#!]/,
  rpz: /;/,
};

export const DIALECT_NAMES = Object.keys(DIALECTS) as readonly DialectName[];

/** Other forms of documents that are taken for lists. */
const DOCUMENTS: readonly (readonly [what: string, form: RegExp])[] = [
  ['lines of a hosts file (format hosts)', /^(?:0|\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f]*:[0-9a-f:]*)\s+[a-z0-9-]+\.\S/i],
  ['lines of a table (CSV)', /^[^,;|]*[,;|][^,;|]*[,;|]/],
  ['bare hosts (format plain)', /^[a-z0-9*-]+(?:\.[a-z0-9-]+)*\.[a-z][a-z0-9-]*$/i],
  ['ranges of addresses', /^[\d.:a-f]+\s*(?:-|\/|\s)\s*[\d.:a-f]+$/i],
];

/** Says what unreadable lines probably are; undefined if they are in no known dialect. */
export const dialectOf = (lines: readonly string[]): string | undefined => {
  const isOf = (form: RegExp): boolean => lines.filter((line) => form.test(line)).length * 2 > lines.length;
  const known = DIALECT_NAMES.find((name) =>
    isOf(
      new RegExp(
        DIALECTS[name].lines
          .flatMap(([{ source }, action]) => (action === 'ignore' ? [] : source.replaceAll(/\?<\w+>/g, '?:')))
          .join('|'),
        'i',
      ),
    ),
  );
  if (known !== undefined) return `${DIALECTS[known].what} (format ${known})`;
  return DOCUMENTS.find(([, form]) => isOf(form))?.[0];
};
