import { randomUUID } from 'node:crypto';
import { eventIdOf, issueOfId } from '../../events/event-id.js';
import { isUpstreamType, parseEvent, UPSTREAM, type UpstreamEvent } from '../../events/event.js';
import { recordOf, type RecordState } from '../../events/record.js';
import { newStoredKey } from '../../events/stored-key.js';
import { streamOf } from '../../events/streams.js';
import { permissionIssue } from '../receive/permission.js';

/** Identifies an event to look up. */
export interface NamedEvent {
  readonly stream: string;
  /** The id of the event in the log. */
  readonly id: string;
  readonly record: Omit<RecordState, 'version'>;
}

type Type = UpstreamEvent['type'];

/** The fields of the data that identify the record of an event. */
const IDENTITY: Readonly<Record<Type, readonly string[]>> = {
  ReportFiled: ['organization', 'reportId'],
  ReportDeleted: ['organization', 'reportId'],
  ThreatStatusChanged: ['organization', 'threatId'],
  ThreatDeleted: ['organization', 'threatId'],
  TakedownFiled: ['organization', 'takedownId'],
  TakedownStatusChanged: ['organization', 'takedownId'],
  TakedownDeleted: ['organization', 'takedownId'],
  AssetStatusChanged: ['changeId', 'asset'],
  AssetStatusChangeDeleted: ['changeId', 'asset'],
  BrandRegistered: ['organization', 'brand'],
  BrandRemoved: ['organization', 'brand'],
  FeatureFlagChanged: ['organization', 'flag'],
  AssetGrouped: ['organization', 'asset'],
  AssetUngrouped: ['organization', 'asset'],
  DisputeResolved: ['organization', 'disputeId'],
};
const EXAMPLES: ReadonlyMap<string, object> = new Map(UPSTREAM.map(({ type, example }) => [type, example]));

/** Builds an event about a record. The fields that do not identify the record come from the example of the type. */
const eventAbout = (type: Type, given: Record<string, unknown>) =>
  parseEvent(type, {
    ...EXAMPLES.get(type),
    ...Object.fromEntries(IDENTITY[type].map((name) => [name, given[name]])),
  });

/**
 * A nonexistent event. The service queries this event in place of another organization's event, so that the response
 * time reveals nothing.
 */
const nonexistentEvent = (): NamedEvent => {
  const id = randomUUID();
  return { stream: `threat-nobody:${id}`, id, record: { organization: '', kind: 'threat', id } };
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Reads the identity of an event from `{ source, id, type, data }` or `{ source, id, type, record }`.
 * @param organization the organization of the key; a key without an organization may look up events of all
 *   organizations
 * @returns the event, or all problems of the item
 */
export const readNamedEvent = (item: unknown, organization: string | undefined): NamedEvent | readonly string[] => {
  if (!isObject(item)) return ['must be an object with source, id, type, and data or record'];
  const { source, id, type, data, record } = item;
  const issues: string[] = [];
  const textOf = (name: string, value: unknown): string => {
    const issue = typeof value === 'string' ? issueOfId(value) : 'must be a string';
    if (issue !== undefined) issues.push(`${name} ${issue}`);
    return typeof value === 'string' ? value : '';
  };
  const [sourceText, idText] = [textOf('source', source), textOf('id', id)];
  if (typeof type !== 'string' || !isUpstreamType(type))
    issues.push('type must be an event type that GET /schemas lists');
  const about = data ?? record;
  if (!isObject(about)) issues.push('data is required, or a record with the fields of data that identify the record');
  if (!isObject(about) || typeof type !== 'string' || !isUpstreamType(type)) return issues;
  const { event, issues: wrong = [] } = eventAbout(type, about);
  const prefix = data === undefined || data === null ? 'record.' : 'data.';
  issues.push(...wrong.map((issue) => issue.replace(/^data\./, prefix)));
  if (event === undefined || issues.length > 0) return issues;
  if (organization !== undefined && permissionIssue(event, organization) !== undefined) return nonexistentEvent();
  const hash = newStoredKey(event)?.hash;
  const stream = streamOf(event, hash);
  return { stream, id: eventIdOf(sourceText, idText, type, stream), record: recordOf(event, hash) };
};
