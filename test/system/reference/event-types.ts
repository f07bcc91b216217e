import type { UpstreamDeclaration } from '../../../src/events/declaring/declaration.js';
import { parseEvent, UPSTREAM, type UpstreamEvent } from '../../../src/events/event.js';
import { isLater, type RecordKind, recordOf } from '../../../src/events/record.js';
import { OWN_KEY_TYPES } from '../../../src/ingestion/receive/permission.js';
import { toTotals } from '../../../src/metrics/totals/totals.js';
import { MEASURE } from '../../../src/events/measure.js';
import { factsOf } from '../../../src/events/facts.js';
import { PROJECTIONS } from '../../../projections/registry.js';

type Type = UpstreamEvent['type'];
type Data = Readonly<Record<string, unknown>>;

/** The name of a measure in the answers of metrics. */
const numberOf = (measure: number): string => {
  const totals = toTotals(
    (other) => Number(other === measure),
    () => 0,
    Number(measure === MEASURE.threat),
  );
  return Object.entries(totals).find(([, n]) => n === 1)![0];
};
/** What answers of each projection show. The metrics are described number by number. */
const SHOWN: Readonly<Record<string, string>> = {
  'brands-and-flags': 'brands and feature flags, which decide whether metrics by brand are answered',
  'asset-statuses': 'the asset check and its history',
  'asset-groups': 'asset groups, their counts and assets',
  takedowns: 'the takedown statistics',
  records: 'the lists of records',
};
const RECORDS: Readonly<Record<RecordKind, string>> = {
  report: 'A report: `organization` and `reportId`',
  threat: 'A threat: `organization` and `threatId`',
  takedown: 'A takedown: `organization` and `takedownId`',
  assetStatus: 'An entry of the status history: `changeId`',
  brand: 'A brand: `organization` and `brand`',
  featureFlag: 'A feature flag: `organization` and `flag`',
  groupedAsset: "An asset's group: `organization` and `asset`",
};

const parsed = (type: Type, data: Data): UpstreamEvent => parseEvent(type, data).event!;
const names = (values: readonly string[]): string => values.map((value) => `\`${value}\``).join(', ');
const DAY = 24 * 60 * 60 * 1000;

/** An example with each instant on another day, so that a fact says which of them dates it. */
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

/** Which numbers the type moves, as the projection of its example with each status tells. */
const countsOf = (declaration: UpstreamDeclaration): string[] => {
  const type = declaration.type as Type;
  const data = datedApart(declaration);
  const statuses = statusesOf(declaration);
  const found = new Map<string, Set<string>>();
  for (const status of statuses.length > 0 ? statuses : [undefined])
    for (const [, brand, at, measure] of factsOf(parsed(type, status === undefined ? data : { ...data, status }))) {
      const dated = declaration.instants.find((name) => Date.parse(data[name] as string) === at);
      const key = `${names([numberOf(measure)])} of ${brand === '' ? 'the organization' : 'each brand it names'}, dated by \`${dated}\``;
      found.set(key, (found.get(key) ?? new Set()).add(status ?? ''));
    }
  return [...found].map(([what, when]) =>
    when.size === Math.max(statuses.length, 1) ? what : `${what}, if \`status\` is ${names([...when])}`,
  );
};

/** Whether the example as a state wins over this deletion if it is a day later. */
const canReturn = (state: UpstreamDeclaration, deletion: UpstreamDeclaration): boolean => {
  const later = Object.fromEntries(state.instants.map((name) => [name, '2026-03-03T12:00:00Z']));
  const deleted = Object.fromEntries(deletion.instants.map((name) => [name, '2026-03-02T12:00:00Z']));
  const versionOf = ({ type, example }: UpstreamDeclaration, instants: Data): number =>
    recordOf(parsed(type as Type, { ...example, ...instants })).version;
  return isLater(
    { version: versionOf(state, later), eventId: 'a' },
    { version: versionOf(deletion, deleted), eventId: 'a' },
  );
};

const kindOf = ({ type, example }: UpstreamDeclaration): RecordKind => recordOf(parsed(type as Type, example)).kind;
const isDeletion = ({ fields }: UpstreamDeclaration): boolean => 'deletedAt' in fields;

/** Which event takes back what this one says, or what this one takes back. */
const takingBack = (declaration: UpstreamDeclaration): string => {
  const kin = UPSTREAM.filter((other: UpstreamDeclaration) => kindOf(other) === kindOf(declaration));
  const states = kin.filter((each) => !isDeletion(each));
  const deletion = kin.find(isDeletion);
  const stateNames = states.map(({ type }) => `\`${type}\``).join(' or ');
  if (isDeletion(declaration))
    return canReturn(states[0]!, declaration)
      ? `- **Takes back:** each earlier ${stateNames} of the record. A later one counts again.`
      : `- **Takes back:** each ${stateNames} of the record, an earlier or a later one: nothing restores it.`;
  const later = `a later ${stateNames} of the record`;
  if (deletion === undefined) return `- **Taken back by:** ${later}.`;
  const forGood = canReturn(declaration, deletion) ? '' : ', for good';
  return `- **Taken back by:** \`${deletion.type}\`${forGood}. Replaced by ${later}.`;
};

/** The page says once what is sent as an instant. */
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
      `- **Key:** ${OWN_KEY_TYPES.has(type) ? "any with the scope `ingest`; an organization's own key for its records" : 'one with the scope `ingest` that belongs to no organization'}.`,
    ].join('\n'),
    'Fields of `data`:',
    Object.entries(fields).map(fieldOf).join('\n'),
    `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``,
  ].join('\n\n');
};

/** The page of event types, made of their declarations and of the projections. Markdown. */
export const eventTypesPage = (): string =>
  `${[
    '# Event types',
    `Made from the declarations in \`src/events/types\` and from what the projections do with their examples: \`npm run record\` writes this page, and \`test/system/reference/pages.spec.ts\` compares it. How to send events: [events](../guides/sending-events.md).`,
    `Each event says the full state of one record, or that it was deleted. The newest counts, by the instant in \`data\` and not by arrival; so a correction is the same record with a later \`updatedAt\`, and the numbers follow it. A brand's numbers are answered with \`brandSlug\`. What moves \`newThreats\` moves the total of its asset's type too.`,
    `An instant is RFC 3339 with an offset, from 1970 on, at most 24 hours in the future (from an organization's own key 5 minutes).`,
    UPSTREAM.map(({ type }) => `- [${type}](#${type.toLowerCase()})`).join('\n'),
    ...UPSTREAM.map((declaration: UpstreamDeclaration) => sectionOf(declaration)),
  ].join('\n\n')}\n`;
