import { isIP } from 'node:net';
import { type Asset, urlKey } from '../../assets/asset.js';
import { assetKey } from '../../assets/asset-key.js';
import { PROFILE_TYPES, profileLink } from '../../assets/profiles/profile.js';
import { uuidOf } from '../../events/streams.js';
import { THREAT_STATUSES } from '../../events/facts.js';
import { formatInstant } from '../../events/instant.js';
import { LISTED_KIND } from '../../events/listed-items.js';
import { isRedacted } from '../../events/redacted.js';
import { readUrl } from '../../runtime/config.js';

/** A collection of TAXII. */
export interface Collection {
  readonly id: string;
  readonly alias: string;
  readonly title: string;
  readonly description: string;
  readonly kind: number;
  /** The statuses that count as a blocked threat. */
  readonly counted: ReadonlySet<string>;
}

const collection = (alias: string, rest: Omit<Collection, 'id' | 'alias'>): Collection => ({
  id: uuidOf(`taxii collection ${alias}`),
  alias,
  ...rest,
});

export const COLLECTIONS: readonly Collection[] = [
  collection('threats', {
    title: 'Threats',
    description: 'The threats of the organization that count as blocked threats, or once did.',
    kind: LISTED_KIND.threat,
    counted: THREAT_STATUSES,
  }),
  collection('verdicts', {
    title: 'Verdicts',
    description: 'The entries of the asset status history that name a brand of the organization and say BLOCKED.',
    kind: LISTED_KIND.verdict,
    counted: new Set(['BLOCKED']),
  }),
];

/** A row of a collection. Instants are in ms. */
export interface ObjectRow {
  readonly addedAt: number;
  readonly firstAddedAt: number;
  readonly record: string;
  readonly id: string;
  /** The record as the lists have it. Empty if it was deleted, or no longer concerns the organization. */
  readonly item: string;
}

/** TLP:AMBER, as STIX 2.1 defines it. */
const MARKING = 'marking-definition--f88d31f6-486f-44da-b317-01333bde0b82';
export const OBJECT_TYPE = 'indicator';
export const STIX_TYPE = 'application/stix+json;version=2.1';

/** The object path of STIX, and the value as its consumers compare it. */
type Observed = readonly [path: string, value: string];

/** A host in ASCII and lower case that needs no further reading. */
const PLAIN_HOST = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/;
const ASCII_HOST = /^[a-z0-9._-]+$/;

const host = (text: string): Observed | undefined => {
  const name = text.replace(/^\[(.*)\]$/, '$1');
  const version = isIP(name);
  if (version !== 0) return [`ipv${version}-addr:value`, name];
  return ASCII_HOST.test(name) ? ['domain-name:value', name] : undefined;
};
const link = (text: string | undefined): Observed | undefined =>
  text !== undefined && readUrl(`https://${text}`) !== undefined ? ['url:value', `https://${text}`] : undefined;

/** How the keys of each type are named in a pattern. Any other type, and what cannot be named so, is an `x-asset`. */
const OBSERVED: Readonly<Record<string, (name: string) => Observed | undefined>> = {
  URL: host,
  PAGE: link,
  ADDRESS: (name) => ['cryptocurrency-wallet:value', name],
  EMAIL: (name) => ['email-addr:value', name],
  ...Object.fromEntries([...PROFILE_TYPES].map((type) => [type, (name: string) => link(profileLink(type, name))])),
};
const REDACTED_PATTERN = `[x-asset:value = 'redacted']`;

/** Returns the pattern of what an asset stands for: one comparison, from which consumers derive a key and a value. */
export const patternOf = (asset: Asset): string => {
  const { type, content } = asset;
  const key = type === 'URL' && PLAIN_HOST.test(content) ? urlKey(content) : assetKey(asset);
  const colon = key.indexOf(':');
  const [path, value] = OBSERVED[key.slice(0, colon)]?.(key.slice(colon + 1)) ?? ['x-asset:value', content];
  return `[${path} = '${value.replace(/['\\]/g, '\\$&')}']`;
};

interface Item {
  readonly asset: Asset;
  readonly status: string;
  readonly createdAt: string;
  readonly expiresAt?: string;
}

/** Writes the object of a record as JSON. The text is concatenated for speed, as in the feed. */
export const objectJson = ({ addedAt, firstAddedAt, record, id, item }: ObjectRow, { counted }: Collection): string => {
  const known = item === '' ? undefined : (JSON.parse(item) as Item);
  const visible = known === undefined || isRedacted(known.asset) ? undefined : known;
  const revoked = visible !== undefined && counted.has(visible.status) ? '' : '"revoked":true,';
  const pattern = visible === undefined ? REDACTED_PATTERN : patternOf(visible.asset);
  const labels = known === undefined ? '' : `"labels":${JSON.stringify([known.asset.type, known.status])},`;
  const until = known?.expiresAt === undefined ? '' : `"valid_until":"${known.expiresAt}",`;
  const modified = formatInstant(addedAt);
  const created = firstAddedAt === addedAt ? modified : formatInstant(firstAddedAt);
  return (
    `{"type":"${OBJECT_TYPE}","spec_version":"2.1","id":"${OBJECT_TYPE}--${record}",` +
    `"created":"${created}","modified":"${modified}",${revoked}` +
    `"indicator_types":["malicious-activity"],"pattern":${JSON.stringify(pattern)},"pattern_type":"stix",` +
    `"valid_from":"${known?.createdAt ?? created}",${until}${labels}` +
    `"external_references":[{"source_name":"threat-protection","external_id":${JSON.stringify(id)}}],` +
    `"object_marking_refs":["${MARKING}"]}`
  );
};

export const manifestJson = ({ record, addedAt }: ObjectRow): string =>
  `{"id":"${OBJECT_TYPE}--${record}","date_added":"${formatInstant(addedAt)}",` +
  `"version":"${formatInstant(addedAt)}","media_type":"${STIX_TYPE}"}`;

export const versionJson = ({ addedAt }: ObjectRow): string => `"${formatInstant(addedAt)}"`;
