/** Reads and normalises a name; undefined if the text is not one. */
export type ReadName = (text: string) => string | undefined;

/**
 * A platform: where its links lead, and where in them the name is.
 *
 * A link is a path such as `in/{name}` (segments may follow), a path or nothing with a parameter (`send?phone={phone}`),
 * or a fragment (`#!/{name}`). `*` is any segment, and text beside a name in its segment is literal. The first link
 * that fits decides. After ` = ` stands how the profile is named, if not by the name alone.
 */
export interface Site {
  /** Asset type. */
  readonly type: string;
  /** Its hosts, without the subdomains in `under`. */
  readonly hosts: string;
  /** Subdomains with the same pages; `www`, `m` and the like unless given. */
  readonly under?: RegExp;
  /** Hosts of a single profile each, with its name as `{host}`. */
  readonly personal?: readonly string[];
  /** Segments that the platform itself uses where a name could be. */
  readonly own?: string;
  /** A first segment that may stand before any link. */
  readonly wrapper?: RegExp;
  readonly names: Readonly<Record<string, ReadName>>;
  readonly links: readonly string[];
  /** Whether a page under a profile is a post, an asset of its own. */
  readonly publishes?: true;
}

/** The parts of a location that a link is matched with. */
export interface LinkParts {
  /** Unescaped, without empty ones. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
  /** Split like the path. */
  readonly fragment: readonly string[];
}

export interface Match {
  readonly name: string;
  /** Whether more of the path follows. */
  readonly isDeeper: boolean;
}

type Part = (segment: string, found: Map<string, string>) => boolean;

interface Link {
  readonly segments: readonly Part[];
  readonly inFragment: boolean;
  readonly parameter?: { readonly name: string; readonly part: Part };
  readonly name: string;
}

const PLACEHOLDER = /\{(\w+)\}/;

const partOf = (text: string, names: Site['names'], own: ReadonlySet<string>): Part => {
  if (text === '*') return () => true;
  const [placeholder, name] = PLACEHOLDER.exec(text) ?? [];
  if (placeholder === undefined || name === undefined) return (segment) => segment.toLowerCase() === text;
  const before = text.slice(0, text.indexOf(placeholder));
  const read = names[name]!;
  return (segment, found) => {
    if (!segment.toLowerCase().startsWith(before) || own.has(segment.toLowerCase())) return false;
    const value = read(segment.slice(before.length));
    if (value !== undefined) found.set(name, value);
    return value !== undefined;
  };
};

const NO_NAMES: ReadonlySet<string> = new Set();

const linkOf = (text: string, { names, own = '' }: Site): Link => {
  const [pattern, name = ''] = text.split(' = ') as [string, string?];
  const inFragment = pattern.startsWith('#');
  const [path, query] = pattern.slice(inFragment ? 1 : 0).split('?') as [string, string?];
  const taken = new Set(own.split(' '));
  const segments = path.split('/').filter((segment) => segment !== '');
  const [parameter, value] = query?.split('=') ?? [];
  const placeholder = PLACEHOLDER.exec(value ?? segments.at(-1)!)?.[0];
  return {
    segments: segments.map((segment) => partOf(segment, names, taken)),
    inFragment,
    ...(parameter !== undefined && { parameter: { name: parameter, part: partOf(value!, names, NO_NAMES) } }),
    name: name === '' ? placeholder! : name,
  };
};

/** The first parameter of a name in any case. */
const parameterOf = (query: URLSearchParams, wanted: string): string | undefined => {
  for (const [name, value] of query) if (name.toLowerCase() === wanted) return value;
  return undefined;
};

const matchLink = (link: Link, { segments, query, fragment }: LinkParts): Match | undefined => {
  const found = new Map<string, string>();
  const asked = link.inFragment ? fragment : segments;
  if (asked.length < link.segments.length || !link.segments.every((part, index) => part(asked[index]!, found)))
    return undefined;
  if (link.parameter !== undefined) {
    const value = parameterOf(query, link.parameter.name);
    if (value === undefined || !link.parameter.part(value, found)) return undefined;
  }
  const name = link.name.replace(/\{(\w+)\}/g, (_, placeholder: string) => found.get(placeholder)!);
  return { name, isDeeper: asked.length > link.segments.length };
};

/** A host with the profile's name as its first label. */
interface PersonalHost {
  /** The host without its first label. */
  readonly parent: string;
  readonly read: ReadName;
}

/** A site made ready for matching. */
export interface CompiledSite {
  readonly site: Site;
  readonly under: RegExp;
  readonly personal: readonly PersonalHost[];
  readonly match: (parts: LinkParts) => Match | undefined;
}

const USUAL = /^(?:www|m|mobile|web|l|app)$/;

const personalHostOf = (text: string, { names, own = '' }: Site): PersonalHost => {
  const [host, written = '{host}'] = text.split(' = ') as [string, string?];
  const taken = new Set(own.split(' '));
  return {
    parent: host.replace('{host}.', ''),
    read: (label) => {
      const name = taken.has(label) ? undefined : names['host']!(label);
      return name && written.replace('{host}', name);
    },
  };
};

export const compileSite = (site: Site): CompiledSite => {
  const links = site.links.map((link) => linkOf(link, site));
  const matchFirst = (parts: LinkParts): Match | undefined => {
    for (const link of links) {
      const match = matchLink(link, parts);
      if (match !== undefined) return match;
    }
    return undefined;
  };
  return {
    site,
    under: site.under ?? USUAL,
    personal: (site.personal ?? []).map((host) => personalHostOf(host, site)),
    match: (parts) =>
      site.wrapper?.test(parts.segments[0] ?? '') === true
        ? matchFirst({ ...parts, segments: parts.segments.slice(1) })
        : matchFirst(parts),
  };
};
