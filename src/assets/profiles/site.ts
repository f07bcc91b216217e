/** Parses and normalizes a name; returns undefined if the text is not a valid name. */
export type ReadName = (text: string) => string | undefined;

/**
 * A platform: its hosts, and the patterns of links to its profiles.
 *
 * A pattern is a path such as `in/{name}` (more segments may follow), a parameter with a path (`send?phone={phone}`) or
 * of the root (`?phone={phone}`), possibly with a second one that leads below the profile (`resolve?domain={name}&post`),
 * or a fragment (`#!/{name}`). `*` matches any segment; text before a placeholder is literal.
 * The first matching pattern is used. The name of the profile is the value of the last placeholder, or the text after
 * `>`, as in `PUBLISHING_HOSTS`.
 */
export interface Site {
  /** The asset type of the profiles. */
  readonly type: string;
  /** The hosts, separated by spaces, without the subdomains that match `subdomains`. */
  readonly hosts: string;
  /** Matches subdomains that have the same pages as the host. Default: `DEFAULT_SUBDOMAINS`. */
  readonly subdomains?: RegExp;
  /** Patterns of hosts whose first label is the name of a profile, such as `{host}.medium.com`, separated by spaces. */
  readonly profileHosts?: string;
  /** Path segments that are not profiles but pages of the platform, separated by spaces, such as `settings`. */
  readonly reserved?: string;
  /** Matches an optional segment before the segments of any pattern, such as a language. */
  readonly ignoredFirstSegment?: RegExp;
  /** The parsers of the placeholders. */
  readonly names: Readonly<Record<string, ReadName>>;
  /** The patterns, separated by spaces. */
  readonly links: string;
  /** The path of the link that is shown for a profile. Default: `{name}`. */
  readonly shown?: string;
  /** Whether pages under a profile are posts, which are separate assets. */
  readonly hasPosts?: true;
}

/** The parts of a link that are matched with patterns. */
export interface LinkParts {
  /** The decoded path segments, without empty segments. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
  /** The segments of the fragment, and its parameters. */
  readonly fragment: readonly string[];
  readonly fragmentQuery: URLSearchParams;
}

export interface Match {
  readonly name: string;
  /** The other profiles to which the link may lead, because a parameter is repeated. */
  readonly others: readonly string[];
  /**
   * Whether the platform may ignore the parameter with the name, because its letter case differs, another value of it is
   * no name, or more segments follow.
   */
  readonly isUncertain: boolean;
  /** Whether the link leads to something below the profile, because more segments follow the matched segments. */
  readonly isBelow: boolean;
}

type Part = (segment: string, found: Map<string, string>) => boolean;

interface Link {
  readonly segments: readonly Part[];
  readonly inFragment: boolean;
  readonly parameter?: { readonly name: string; readonly part: Part };
  /** The parameter that leads to something below the profile. */
  readonly below?: string | undefined;
  readonly name: string;
}

const PLACEHOLDER = /\{(\w+)\}/;

/**
 * Compares with a text in lower case and ASCII. Letters of other lengths are never equal, and changing a long segment to
 * lower case takes most of the time.
 */
export const isEqual = (segment: string, text: string): boolean =>
  segment.length === text.length && segment.toLowerCase() === text;

const parseSegmentPattern = (text: string, names: Site['names'], reserved: ReadonlySet<string>): Part => {
  if (text === '*') return () => true;
  const [placeholder, name] = PLACEHOLDER.exec(text) ?? [];
  if (placeholder === undefined || name === undefined) return (segment) => isEqual(segment, text);
  const before = text.slice(0, text.indexOf(placeholder));
  const read = names[name]!;
  return (segment, found) => {
    if (!segment.toLowerCase().startsWith(before) || reserved.has(segment.toLowerCase())) return false;
    const value = read(segment.slice(before.length));
    if (value !== undefined) found.set(name, value);
    return value !== undefined;
  };
};

const NO_NAMES: ReadonlySet<string> = new Set();

const parseLinkPattern = (text: string, { names, reserved = '' }: Site): Link => {
  const [pattern, name] = text.split('>') as [string, string?];
  const inFragment = pattern.startsWith('#');
  const [path, query] = pattern.slice(inFragment ? 1 : 0).split('?') as [string, string?];
  const reservedSegments = new Set(reserved.split(' '));
  const segments = path.split('/').filter((segment) => segment !== '');
  const [first, below] = query?.split('&') ?? [];
  const [parameter, value] = first?.split('=') ?? [];
  const placeholder = PLACEHOLDER.exec(value ?? segments.at(-1)!)?.[0];
  return {
    segments: segments.map((segment) => parseSegmentPattern(segment, names, reservedSegments)),
    inFragment,
    ...(parameter !== undefined && {
      parameter: { name: parameter, part: parseSegmentPattern(value!, names, NO_NAMES) },
      below,
    }),
    name: name ?? placeholder!,
  };
};

const NO_OTHERS: readonly string[] = [];

const matchLink = (link: Link, parts: LinkParts): Match | undefined => {
  const found = new Map<string, string>();
  const actual = link.inFragment ? parts.fragment : parts.segments;
  if (actual.length < link.segments.length || !link.segments.every((part, index) => part(actual[index]!, found)))
    return undefined;
  const nameOf = (): string => link.name.replace(/\{(\w+)\}/g, (_, placeholder: string) => found.get(placeholder)!);
  const hasMore = actual.length > link.segments.length;
  const { parameter } = link;
  if (parameter === undefined)
    return {
      name: nameOf(),
      others: NO_OTHERS,
      isUncertain: false,
      isBelow: hasMore,
    };
  if (hasMore && link.segments.length === 0) return undefined;
  const query = link.inFragment ? parts.fragmentQuery : parts.query;
  if (link.below !== undefined && !query.has(link.below)) return undefined;
  const exact = query.getAll(parameter.name);
  const values = exact.length > 0 ? exact : valuesInAnyCase(query, parameter.name);
  const read = values.flatMap((value) => (parameter.part(value, found) ? [nameOf()] : []));
  const [name, ...others] = new Set(read);
  const isUncertain = hasMore || exact.length === 0 || others.length > 0 || read.length < values.length;
  return name === undefined ? undefined : { name, others, isUncertain, isBelow: link.below !== undefined };
};

const valuesInAnyCase = (query: URLSearchParams, wanted: string): readonly string[] =>
  [...query].filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value);

/** A host whose first label is the name of a profile. */
interface ProfileHost {
  /** The host without its first label. */
  readonly parent: string;
  readonly read: ReadName;
}

/** A site with compiled patterns. */
export interface CompiledSite {
  readonly site: Site;
  readonly subdomains: RegExp;
  readonly profileHosts: readonly ProfileHost[];
  readonly match: (parts: LinkParts) => Match | undefined;
}

/** Subdomains that have the same pages as the host, unless a site names others. */
export const DEFAULT_SUBDOMAINS = /^(?:www|m|mobile|web|l|app)$/;

const parseProfileHost = (text: string, { names, reserved = '' }: Site): ProfileHost => {
  const [host, template = '{host}'] = text.split('>') as [string, string?];
  const reservedSegments = new Set(reserved.split(' '));
  return {
    parent: host.replace('{host}.', ''),
    read: (label) => {
      const name = reservedSegments.has(label) ? undefined : names['host']!(label);
      return name && template.replace('{host}', name);
    },
  };
};

export const compileSite = (site: Site): CompiledSite => {
  const links = site.links.split(' ').map((link) => parseLinkPattern(link, site));
  const matchFirst = (parts: LinkParts): Match | undefined => {
    for (const link of links) {
      const match = matchLink(link, parts);
      if (match !== undefined) return match;
    }
    return undefined;
  };
  return {
    site,
    subdomains: site.subdomains ?? DEFAULT_SUBDOMAINS,
    profileHosts: (site.profileHosts?.split(' ') ?? []).map((host) => parseProfileHost(host, site)),
    match: (parts) =>
      site.ignoredFirstSegment?.test(parts.segments[0] ?? '') === true
        ? matchFirst({ ...parts, segments: parts.segments.slice(1) })
        : matchFirst(parts),
  };
};
