import { type Declared, ownEvent } from '../declaring/declaration.js';
import { id, instant, oneOf, optional, slug } from '../declaring/fields.js';

/** The kinds of records whose content can be redacted. */
export const REDACTED_KINDS = ['threat', 'takedown', 'assetStatus', 'groupedAsset', 'dispute'] as const;

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
