import { parseContent } from '../../assets/parse-content.js';
import type { Asset } from '../../assets/asset.js';
import type { JsonCloudEvent } from '../../events/cloud-event-schema.js';
import type { UpstreamEvent } from '../../events/event.js';
import { formatInstant } from '../../events/instant.js';
import { ADDRESSES_FILE, type AddressRow, type SiteRow, SITES_FILE } from './shipped-rows.js';

/**
 * Turns rows of the shipped data into events, as described in docs/guides/getting-started.md. Event ids are derived
 * from file and line, so that events that are sent a second time are recognised as duplicates.
 */

export const ORGANIZATION = 'acme';
/** A site belongs to the brands whose slug it contains, ignoring case. */
export const BRANDS = [
  { brand: 'metamask', name: 'MetaMask' },
  { brand: 'polkadot', name: 'Polkadot' },
  { brand: 'uniswap', name: 'Uniswap' },
  { brand: 'walletconnect', name: 'WalletConnect' },
] as const;

/**
 * The data contains no reports or takedowns, so the demo invents some. For a listing, there is a report on every 10th
 * line, a takedown on every 20th line, and the completion of that takedown on every 40th line.
 */
const LINES_PER_REPORT = 10;
const LINES_PER_TAKEDOWN = 20;
const LINES_PER_COMPLETION = 40;

/** The shortest time to a takedown, and the factor between the longest and the shortest; half of them take two days. */
const SHORTEST_TAKEDOWN_MS = 8 * 60 * 60 * 1_000;
const TAKEDOWN_RATIO = 40;

/** Returns a time to takedown that looks random and is always the same for a line: most are short, and few are long. */
const takedownTime = (line: number): number =>
  Math.round(SHORTEST_TAKEDOWN_MS * TAKEDOWN_RATIO ** (((line * 2_654_435_761) % 2 ** 32) / 2 ** 32));

const SOURCE = 'https://github.com/polkadot-js/phishing';

/** A row for which no event is created. */
export interface SkippedRow {
  readonly file: string;
  readonly line: number;
  readonly reason: string;
}

export const cloudEvent = (
  id: string,
  type: UpstreamEvent['type'],
  time: number,
  data: JsonCloudEvent['data'],
): JsonCloudEvent => ({
  specversion: '1.0',
  id,
  source: SOURCE,
  type,
  time: formatInstant(time),
  data,
});

const readSite = (site: string): Asset | string => {
  if (site.includes('*')) return 'a pattern, not a site';
  const { parsed } = parseContent(site);
  if (parsed === undefined) return 'not a possible site';
  // The content is sent as spelled in the file, without surrounding spaces. The service maps all spellings of an asset
  // to one normalized key.
  return { type: parsed.type, content: site.trim() };
};

const setUp = (firstDay: number): JsonCloudEvent[] => [
  cloudEvent('brands-metrics', 'FeatureFlagChanged', firstDay, {
    organization: ORGANIZATION,
    flag: 'brands-metrics',
    enabled: true,
    updatedAt: formatInstant(firstDay),
  }),
  ...BRANDS.map(({ brand, name }) =>
    cloudEvent(`brand:${brand}`, 'BrandRegistered', firstDay, {
      organization: ORGANIZATION,
      brand,
      name,
      updatedAt: formatInstant(firstDay),
    }),
  ),
];

/** The threat of a site according to the rows that have been read so far. */
interface Threat {
  readonly id: string;
  /**
   * The day, in ms since 1970, on which the site was first listed or, if the site has not been listed yet, first
   * delisted.
   */
  readonly createdAt: number;
}

const siteEvents = (row: SiteRow, asset: Asset, threat: Threat): JsonCloudEvent[] => {
  const { line, day, ordinal, change, site } = row;
  const listed = change === 'listed';
  const time = day + ordinal;
  const name = `${SITES_FILE}:${line}`;
  const id = `line-${line}`;
  const brands = BRANDS.map(({ brand }) => brand).filter((brand) => site.toLowerCase().includes(brand));
  const updatedAt = formatInstant(time);
  const events = [
    cloudEvent(`${name}:threat`, 'ThreatStatusChanged', time, {
      organization: ORGANIZATION,
      threatId: threat.id,
      asset,
      status: listed ? 'APPROVED' : 'REJECTED',
      createdAt: formatInstant(threat.createdAt),
      updatedAt,
    }),
    cloudEvent(`${name}:status`, 'AssetStatusChanged', time, {
      changeId: id,
      asset,
      status: listed ? 'BLOCKED' : 'UNKNOWN',
      brandReviews: brands.map((brand) => ({ organization: ORGANIZATION, brand })),
      createdAt: updatedAt,
    }),
  ];
  if (!listed) return events;
  const common = { organization: ORGANIZATION, createdAt: formatInstant(day), updatedAt };
  const takedown = { ...common, takedownId: id, brand: brands[0], asset };
  if (line % LINES_PER_REPORT === 0)
    events.push(cloudEvent(`${name}:report`, 'ReportFiled', time, { ...common, reportId: id, brands }));
  if (line % LINES_PER_TAKEDOWN === 0)
    events.push(cloudEvent(`${name}:takedown`, 'TakedownFiled', time, { ...takedown, status: 'TODO' }));
  if (line % LINES_PER_COMPLETION === 0) {
    const completedAt = time + takedownTime(line);
    const completed = { ...takedown, status: 'COMPLETED', updatedAt: formatInstant(completedAt) };
    events.push(cloudEvent(`${name}:completed`, 'TakedownStatusChanged', completedAt, completed));
  }
  return events;
};

const addressEvent = ({ line, address }: AddressRow, day: number): JsonCloudEvent =>
  cloudEvent(`${ADDRESSES_FILE}:${line}:threat`, 'ThreatStatusChanged', day + line, {
    organization: ORGANIZATION,
    threatId: `address-line-${line}`,
    asset: { type: 'ADDRESS', content: address },
    status: 'WATCHLISTED',
    createdAt: formatInstant(day),
    updatedAt: formatInstant(day + line),
  });

/**
 * Returns the set-up events (feature flag, brands), then the events of the shipped data in the order of the files, and
 * all rows that were skipped.
 */
export const rowEvents = (
  sites: readonly SiteRow[],
  addresses: readonly AddressRow[],
): { readonly events: readonly JsonCloudEvent[]; readonly skipped: readonly SkippedRow[] } => {
  const events = setUp(sites[0]?.day ?? 0);
  const skipped: SkippedRow[] = [];
  const threats = new Map<string, Threat>();
  const listed = new Set<string>();
  for (const row of sites) {
    const { line, day, change, site } = row;
    const asset = change === 'listed' || change === 'delisted' ? readSite(site) : 'neither listed nor delisted';
    if (typeof asset === 'string') {
      skipped.push({ file: SITES_FILE, line, reason: asset });
      continue;
    }
    const id = threats.get(site)?.id ?? `line-${line}`;
    const isFirstListing = change === 'listed' && !listed.has(site);
    if (isFirstListing) listed.add(site);
    if (isFirstListing || !threats.has(site)) threats.set(site, { id, createdAt: day });
    events.push(...siteEvents(row, asset, threats.get(site)!));
  }
  const lastDay = sites.at(-1)?.day ?? 0;
  const watched = new Set<string>();
  for (const row of addresses) {
    const { line, site, address } = row;
    const before = watched.has(address);
    const isAddress = parseContent(address).parsed?.type === 'ADDRESS';
    if (!isAddress || before) {
      const reason = isAddress ? 'a wallet address already on an earlier line' : 'not a wallet address';
      skipped.push({ file: ADDRESSES_FILE, line, reason });
      continue;
    }
    watched.add(address);
    events.push(addressEvent(row, threats.get(site)?.createdAt ?? lastDay));
  }
  return { events, skipped };
};
