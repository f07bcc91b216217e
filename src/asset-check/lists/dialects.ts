/**
 * What a line of a dialect does with the hosts in its group `names`. A line that has the group `to` blocks them if the
 * address there blocks in a `hosts` list, and redirects them otherwise.
 */
type Action = 'block' | 'allow' | 'unsupported' | 'ignore';

export interface Dialect {
  /** What its lines are, as a refusal says it. */
  readonly what: string;
  /** The forms of its lines; the first that matches counts. A line in none of them may still be a bare host. */
  readonly lines: readonly (readonly [form: RegExp, action: Action])[];
}

/** The options with which a rule still blocks the host as a whole. */
const WHOLE = '(?:important|all|document|doc|popup)';

/** The dialects in which filter lists are published, besides `hosts` files. */
export const DIALECTS = {
  adblock: {
    what: 'rules of an ad blocker',
    lines: [
      [new RegExp(`^@@\\|\\|(?<names>[^\\s/^$|*~]+)\\^?\\|?(?:\\$${WHOLE}(?:,${WHOLE})*)?$`), 'allow'],
      [/^@@/, 'unsupported'],
      [new RegExp(`^\\|\\|(?<names>[^\\s/^$|~]+)\\^?\\|?(?:\\$${WHOLE}(?:,${WHOLE})*)?$`), 'block'],
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
      [
        /^local-zone:\s*"?(?<names>[^\s"]+)"?\s+"?(?:always_transparent|transparent|typetransparent|nodefault|inform)"?$/,
        'allow',
      ],
      [
        /^local-data:\s*["']?(?<names>[^\s"']+)\s+(?:(?:\d+[smhdw]?|IN)\s+){0,2}(?:A|AAAA)\s+(?<to>[^\s"']+)["']?$/i,
        'block',
      ],
      // The data of such a zone say whether it blocks or leads elsewhere.
      [/^local-zone:\s*\S+\s+"?(?:redirect|inform_redirect)"?$/, 'ignore'],
      [/^local-(?:zone|data)[a-z-]*:/, 'unsupported'],
      [/^server:$/, 'ignore'],
    ],
  },
  rpz: {
    what: 'records of a response policy zone',
    lines: [
      [/^\$(?:TTL|ORIGIN)\b/i, 'ignore'],
      [/(?:^|\s)(?:SOA|NS)\s/i, 'ignore'],
      [/^[\d\s()]+$/, 'ignore'],
      [/\.rpz-(?:ip|nsip|nsdname|client-ip)\.?\s/i, 'unsupported'],
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
