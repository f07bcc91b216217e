import type { UpstreamDeclaration } from '../../../src/events/declaring/declaration.js';
import { parseEvent, UPSTREAM, type UpstreamEvent } from '../../../src/events/event.js';
import { isLater, type RecordKind, recordOf } from '../../../src/events/record.js';
import { OWN_KEY_TYPES } from '../../../src/ingestion/receive/decide-events.js';
import { toTotals } from '../../../src/metrics/get-metrics.js';
import { MEASURE, factsOf } from '../../../src/events/facts.js';
import { PROJECTIONS } from '../../../projections/registry.js';

type Type = UpstreamEvent['type'];
type Data = Readonly<Record<string, unknown>>;

/** Returns the name of a measure in the responses of the metrics. */
const numberOf = (measure: number): string => {
  const totals = toTotals(
    (other) => Number(other === measure),
    () => 0,
    Number(measure === MEASURE.threat),
  );
  return Object.entries(totals).find(([, n]) => n === 1)![0];
};
/** What the responses of each projection show. The metrics are described number by number. */
const SHOWN: Readonly<Record<string, string>> = {
  'brands-and-flags': 'brands and feature flags, which determine whether metrics by brand are available',
  'asset-statuses': 'the asset check and its history',
  'asset-groups': 'asset groups, their counts and assets',
  takedowns: 'the takedown statistics',
  register: 'the lists of records',
};
const RECORDS: Readonly<Record<RecordKind, string>> = {
  report: 'A report: `organization` and `reportId`',
  threat: 'A threat: `organization` and `threatId`',
  takedown: 'A takedown: `organization` and `takedownId`',
  assetStatus: 'An entry of the status history: `changeId`',
  brand: 'A brand: `organization` and `brand`',
  featureFlag: 'A feature flag: `organization` and `flag`',
  groupedAsset: "An asset's group: `organization` and `asset`",
  dispute: 'A dispute: `organization` and `disputeId`',
};

const parsed = (type: Type, data: Data): UpstreamEvent => parseEvent(type, data).event!;
const names = (values: readonly string[]): string => values.map((value) => `\`${value}\``).join(', ');
const DAY = 24 * 60 * 60 * 1000;

/** Returns an example with each instant on a different day, so that the day of a fact shows which instant dates it. */
const datedApart = ({ instants, example }: UpstreamDeclaration): Data => ({
  ...example,
  ...Object.fromEntries(
    instants.map((name, index) => [name, new Date(Date.parse('2026-03-01T12:00:00Z') + index * DAY).toISOString()]),
  ),
});

const statusesOf = ({ fields }: UpstreamDeclaration): readonly string[] => {
  const { enum: all, examples } = fields['status']?.schema ?? {};
  return (all ?? examples ?? []) as readonly string[];
};

/** Returns the numbers that the type changes, according to the projection of its example with each status. */
const countsOf = (declaration: UpstreamDeclaration): string[] => {
  const type = declaration.type as Type;
  const data = datedApart(declaration);
  const statuses = statusesOf(declaration);
  const found = new Map<string, Set<string>>();
  for (const status of statuses.length > 0 ? statuses : [undefined])
    for (const [, brand, at, measure] of factsOf(parsed(type, status === undefined ? data : { ...data, status }))) {
      const dated = declaration.instants.find((name) => Date.parse(data[name] as string) === at);
      const key = `${names([numberOf(measure)])} of ${brand === '' ? 'the organization' : 'each brand that the record names'}, dated by \`${dated}\``;
      found.set(key, (found.get(key) ?? new Set()).add(status ?? ''));
    }
  return [...found].map(([what, when]) =>
    when.size === Math.max(statuses.length, 1) ? what : `${what}, if \`status\` is ${names([...when])}`,
  );
};

/** Returns whether the example wins over this deletion if the example is a day later. */
const canReturn = (state: UpstreamDeclaration, deletion: UpstreamDeclaration): boolean => {
  const versionAt = ({ type, instants, example }: UpstreamDeclaration, at: string): number => {
    const dated = instants.filter((name) => name in example).map((name) => [name, at]);
    return recordOf(parsed(type as Type, { ...example, ...Object.fromEntries(dated) })).version;
  };
  return isLater(
    { version: versionAt(state, '2026-03-03T12:00:00Z'), eventId: 'a' },
    { version: versionAt(deletion, '2026-03-02T12:00:00Z'), eventId: 'a' },
  );
};

const kindOf = ({ type, example }: UpstreamDeclaration): RecordKind => recordOf(parsed(type as Type, example)).kind;
const isDeletion = ({ fields }: UpstreamDeclaration): boolean => 'deletedAt' in fields;

/** Returns the events that reverse this one, or that this one reverses. */
const takingBack = (declaration: UpstreamDeclaration): string => {
  const related = UPSTREAM.filter((other: UpstreamDeclaration) => kindOf(other) === kindOf(declaration));
  const states = related.filter((each) => !isDeletion(each));
  const deletion = related.find(isDeletion);
  const stateNames = states.map(({ type }) => `\`${type}\``).join(' or ');
  if (isDeletion(declaration))
    return canReturn(states[0]!, declaration)
      ? `- **Reverses:** each earlier ${stateNames} of the record. A later ${stateNames} counts again.`
      : `- **Reverses:** every ${stateNames} of the record, whether earlier or later. No event restores the record.`;
  const later = `a later ${stateNames} of the record`;
  if (deletion === undefined) return `- **Reversed by:** ${later}.`;
  const forGood = canReturn(declaration, deletion) ? '' : ', permanently';
  return `- **Reversed by:** \`${deletion.type}\`${forGood}. Replaced by ${later}.`;
};

/** The page explains once how an instant is sent. */
const INSTANT_HINT = / RFC 3339 with an offset.*$/s;

/** @throws Error for a projection that nobody has described */
const shownBy = (projection: string): string => {
  const shown = SHOWN[projection];
  if (shown === undefined) throw new Error(`Say what is shown of the projection ${projection}`);
  return shown;
};

const fieldOf = ([name, { schema, isOptional }]: [string, UpstreamDeclaration['fields'][string]]): string => {
  const known = (schema['enum'] ?? schema['examples']) as readonly string[] | undefined;
  const values = known === undefined ? '' : ` Values: ${names(known)}.`;
  return `- \`${name}\`${isOptional ? ' (optional)' : ''}: ${String(schema['description']).replace(INSTANT_HINT, '')}${values}`;
};

const sectionOf = (declaration: UpstreamDeclaration): string => {
  const { type, description, fields, example } = declaration;
  const counts = countsOf(declaration);
  const shown = PROJECTIONS.filter(
    ({ name, types }) => name !== 'metrics' && (types as readonly string[]).includes(type),
  );
  return [
    `## ${type}`,
    description,
    [
      `- **Record:** ${RECORDS[kindOf(declaration)]}.`,
      `- **Counts:** ${counts.length === 0 ? 'nothing.' : ''}`,
      ...counts.map((count) => `  - ${count}`),
      `- **Shown in:** ${shown.map(({ name }) => shownBy(name)).join('; ')}.`,
      takingBack(declaration),
      `- **Key:** ${OWN_KEY_TYPES.has(type) ? 'any key with the scope `ingest`; a key of one organization only for records of that organization' : 'a key with the scope `ingest` that belongs to no organization'}.`,
    ].join('\n'),
    'Fields of `data`:',
    Object.entries(fields).map(fieldOf).join('\n'),
    `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``,
  ].join('\n\n');
};

/** Returns the page of event types as Markdown, generated from their declarations and the projections. */
export const eventTypesPage = (): string =>
  `${[
    '# Event types',
    `\`npm run record\` generates this page from the declarations in \`src/events/types\` and from what the projections count for the examples in those declarations; \`test/system/reference/pages.spec.ts\` checks that the page is current. [Send events](../guides/sending-events.md) explains how to send events.`,
    `Each event contains the full state of one record, or says that the record was deleted. The state with the latest instant in \`data\` (other than \`expiresAt\`) counts, whatever the order of arrival. To correct a record, send the record again with a later \`updatedAt\`; the numbers change accordingly. Metrics queries return the numbers of a brand if they name the brand as \`brandSlug\`. An event that changes \`newThreats\` also changes the total of its asset type.`,
    `An instant is an RFC 3339 time with an offset, not before 1970 and at most 24 hours in the future (at most 5 minutes if an organization's own key sends the event). Only \`expiresAt\` may be later.`,
    UPSTREAM.map(({ type }) => `- [${type}](#${type.toLowerCase()})`).join('\n'),
    ...UPSTREAM.map((declaration: UpstreamDeclaration) => sectionOf(declaration)),
  ].join('\n\n')}\n`;
