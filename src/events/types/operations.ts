import { type Declared, ownEvent } from '../declaring/declaration.js';
import { field, id, instant, optional, text, wholeNumber, oneOf, slug } from '../declaring/fields.js';

/** The first event of every log. A checkpoint is valid only for the log whose id this event contains. */
export const logOpened = ownEvent('LogOpened', {
  logId: id("The log's id."),
  createdAt: instant('When the log was opened.'),
});

/** An operator dropped a parked event, so that a rebuild does not park the event again. */
export const parkedEventDropped = ownEvent('ParkedEventDropped', {
  projection: id('The projection that parked the event.'),
  eventId: id('The parked event.'),
  reason: text(1_000, 'Why the event was dropped.'),
  createdAt: instant('When the event was dropped.'),
});

/**
 * An operator retried a parked event. The projection applies the event at the position of this event, now and in every
 * rebuild, so that readers see the change at the end of the log, like any other. If it fails again, it stays parked.
 */
export const parkedEventRetried = ownEvent('ParkedEventRetried', {
  projection: id('The projection that parked the event.'),
  eventId: id('The parked event.'),
  stream: id('The stream of the parked event.'),
  revision: wholeNumber(0, 'The revision of the parked event in its stream.'),
  createdAt: instant('When the event was retried.'),
});

/**
 * Copies were appended to streams in an EventStoreDB, to redact contents, and the streams are truncated before the copies
 * from now on. An event that is stored before this event may therefore be missing after a scavenge.
 */
export const streamsRewritten = ownEvent('StreamsRewritten', {
  streams: wholeNumber(1, 'The number of these streams.'),
});

/** A number for each name, such as the number of events of each type. */
const counts = (description: string) =>
  field<Readonly<Record<string, number>>>(
    { type: 'object', additionalProperties: { type: 'integer', minimum: 0 }, description },
    (value, path, validation) => {
      const isValid =
        typeof value === 'object' && value !== null && Object.values(value).every((n) => Number.isSafeInteger(n));
      if (!isValid) validation.reject(path, 'must be an object of whole numbers');
      return isValid ? (value as Record<string, number>) : {};
    },
  );

/** The organization as the events about its erasure name it. The slug itself is never stored. */
const ERASED = {
  digest: id('SHA-256 over the id of the log and the slug of the organization, in hex.'),
  logId: id('The id of the log in the digest. After a copy of the log, this is the id of the original log.'),
};

/** From this event on, the keys of the organization are invalid, and events for the organization are rejected. */
export const organizationErasureStarted = ownEvent('OrganizationErasureStarted', {
  ...ERASED,
  startedAt: instant('When the erasure started.'),
});

/** The certificate of a complete erasure. */
export const organizationErased = ownEvent('OrganizationErased', {
  ...ERASED,
  startedAt: instant('When the erasure started.'),
  finishedAt: instant('When the last event and the last row had been erased.'),
  version: text(64, 'The version of the software.'),
  events: counts('The number of rewritten events, by type.'),
  rows: counts('The number of deleted or changed rows, by table.'),
  firstPosition: optional(wholeNumber(0, 'The position of the first rewritten event.')),
  lastPosition: optional(wholeNumber(0, 'The position of the last rewritten event.')),
});
export type OrganizationErased = Declared<typeof organizationErased>;

/** The kinds of records whose content can be redacted. */
const REDACTED_KINDS = ['threat', 'takedown', 'assetStatus', 'groupedAsset', 'dispute'] as const;

/**
 * The content of a record was replaced by `[redacted]`. The earlier events of the record are rewritten after this event
 * has been applied. Before and after they are rewritten, a projection has the same rows as soon as it has applied this
 * event.
 */
export const contentRedacted = ownEvent('ContentRedacted', {
  organization: optional(slug('The organization of the record. Absent for an entry of the asset status history.')),
  kind: oneOf(REDACTED_KINDS, 'The kind of the record.'),
  id: id('The id of the record.'),
  assetHash: id(
    'The hash of the asset whose content was redacted. A record that is about another asset now does not change.',
  ),
  redactedAt: instant('When the content was redacted.'),
});
export type ContentRedacted = Declared<typeof contentRedacted>;
