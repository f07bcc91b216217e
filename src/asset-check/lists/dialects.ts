import type { Rank } from './host-table.js';

/**
 * What a line of a dialect does with the hosts in its group `names`. A line that has the group `to` blocks them if the
 * address there blocks in a `hosts` list, and redirects them otherwise. A line that cancels removes the lines of a lower
 * rank about the same hosts. The first group `zone` of a document is what absolute names end in.
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
/** A rule about a host with any of the given options, and with one of them in particular. */
const rule = (start: '' | '@@', options: string, one?: string): RegExp => {
  const names = `[^\\s/^$|~${start === '' && one === undefined ? '' : '*'}]+`;
  const list = `\\$(?=[a-z,]*${one ?? ''})(?:${options})(?:,(?:${options}))*`;
  return new RegExp(`^${start}\\|\\|(?<names>${names})\\^?\\|?${one === undefined ? `(?:${list})?` : list}$`);
};

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
      [/^(?:server|rev-server)=\/(?<names>[^\s=]+)\/#$/, 'allow'],
      [/^(?:local|server)=\/(?<names>[^\s=]+)\/$/, 'block'],
      [/^address=\/(?<names>[^\s=]+)\/#?$/, 'block'],
      [/^(?:address|server)=\/(?<names>[^\s=]+)\/(?<to>[^\s/]+)$/, 'block'],
      [/^(?:ipset|nftset|address|server|local|rev-server|cname|host-record)=/, 'unsupported'],
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
        /^local-data:\s*["']?(?<names>[^\s"']+)\s+(?:(?:\d+[smhdw]?|IN)\s+){0,2}(?:A|AAAA)\s+(?<to>[^\s"']+)["']?$/i,
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
      [/^(?<zone>\S+)\.\s+(?:(?:\d+[smhdw]?|IN)\s+){0,2}SOA\s/i, 'ignore'],
      [/^\$(?:TTL|ORIGIN)\b/i, 'ignore'],
      [/(?:^|\s)(?:SOA|NS)\s/i, 'ignore'],
      [/^[\d\s()]+$/, 'ignore'],
      [/\.rpz-(?:ip|nsip|nsdname|client-ip)[.\s]/i, 'unsupported'],
      [/^(?<names>\S+)\s+(?:(?:\d+[smhdw]?|IN)\s+){0,2}CNAME\s+rpz-passthru\.$/i, 'allow'],
      [/^(?<names>\S+)\s+(?:(?:\d+[smhdw]?|IN)\s+){0,2}CNAME\s+(?:\.|\*\.|rpz-drop\.)$/i, 'block'],
      [/^(?<names>\S+)\s+(?:(?:\d+[smhdw]?|IN)\s+){0,2}(?:A|AAAA)\s+(?<to>\S+)$/i, 'block'],
      [/^(?<names>\S+)\s+(?:(?:\d+[smhdw]?|IN)\s+){0,2}(?:CNAME)\s+(?<to>\S+)$/i, 'block'],
      [/^\S+\s+(?:(?:\d+[smhdw]?|IN)\s+){0,2}(?:TXT|MX|SRV|PTR)\s/i, 'unsupported'],
    ],
  },
} as const satisfies Record<string, Dialect>;

export type DialectName = keyof typeof DIALECTS;

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
