import { lastTwoLabels } from '../location.js';
import { CARRIERS } from './carrier-table.js';

/** A form of the links of a carrier. */
export interface Form {
  /** Segments of the path in lower case; `*` matches any segment. */
  readonly segments: readonly string[];
  /** Whether any path, also none, carries the link and nothing else. */
  readonly isInAnyPath: boolean;
  /** Name of the parameter in lower case; '' for the whole query; undefined if the link follows the path. */
  readonly parameter: string | undefined;
  readonly inFragment: boolean;
  /** What stands in the fragment before the parameter, and names no page; '' for nothing. */
  readonly route: string;
  readonly encoding: string;
}

const FORM = /^([^?#{]*)(?:#([^?{]*))?(?:\?([^={]*)=?)?\{(\w+)\}$/;

const ANY_PATH = '...';

const parseForm = (text: string): Form => {
  const [, path = '', route, parameter, encoding = 'link'] = FORM.exec(text)!;
  const isInAnyPath = path === ANY_PATH;
  return {
    segments: isInAnyPath ? [] : path.split('/').filter((segment) => segment !== ''),
    isInAnyPath,
    parameter,
    inFragment: route !== undefined,
    route: route ?? '',
    encoding,
  };
};

const BY_HOST_OR_SCHEME = new Map<string, readonly Form[]>();
/** The domains of the entries `*.HOST`, reduced to their last two labels. */
const WILDCARD_DOMAINS = new Set<string>();

for (const line of CARRIERS.trim().split('\n')) {
  const words = line.split(' // ', 1)[0]!.trim().split(' ');
  const forms = words.filter((word) => word.includes('{')).map(parseForm);
  for (const word of words) {
    if (word.includes('{')) continue;
    BY_HOST_OR_SCHEME.set(word, [...(BY_HOST_OR_SCHEME.get(word) ?? []), ...forms]);
    if (word.startsWith('*.')) WILDCARD_DOMAINS.add(lastTwoLabels(word));
  }
}

const GOOGLE = /^(?:[a-z]{1,16}\.)?google\.(?:com?\.)?[a-z]{2,3}$/;

/** Returns the forms of a carrier's links; undefined if the host or scheme is no carrier. */
export const formsOf = (host: string): readonly Form[] | undefined => {
  const exact = BY_HOST_OR_SCHEME.get(host) ?? BY_HOST_OR_SCHEME.get(host.replace(/^(?:www|m|mobile)\./, ''));
  if (exact !== undefined) return exact;
  if (host.includes('google.') && GOOGLE.test(host)) return BY_HOST_OR_SCHEME.get('google.com');
  if (!WILDCARD_DOMAINS.has(lastTwoLabels(host))) return undefined;
  for (let dot = host.indexOf('.'); dot !== -1; dot = host.indexOf('.', dot + 1)) {
    const forms = BY_HOST_OR_SCHEME.get(`*${host.slice(dot)}`);
    if (forms !== undefined) return forms;
  }
  return undefined;
};

/** Whether a host, or some links on it, carry links to other hosts. */
export const isCarrier = (host: string): boolean => formsOf(host) !== undefined;

/** The hosts, or domains above the hosts, on which links carry links; except those of Google. */
export const carrierHosts = (): string[] =>
  Array.from(BY_HOST_OR_SCHEME.keys(), (name) => name.replace(/^\*\./, '')).filter((name) => name.includes('.'));
