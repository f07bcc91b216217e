import { upstreamEvent } from '../declaring/declaration.js';
import { asset, id, instant, optional, slug, upperCaseName } from '../declaring/fields.js';

const STATUSES = [
  'TODO',
  'IN_PROGRESS',
  'COMPLETED',
  'CANCELED',
  'PENDING_RETRACTION',
  'RETRACTION_SENT',
  'RETRACTED',
] as const;

/** The full state of a takedown. `TakedownFiled` and `TakedownStatusChanged` are counted in the same way. */
const fields = {
  organization: slug('The organization that filed the takedown.'),
  takedownId: id('Identifies the takedown within the organization.'),
  brand: optional(slug('The brand that the takedown was filed for.')),
  asset: asset('The asset to take down.'),
  status: upperCaseName(
    STATUSES,
    'A takedown counts as filed whatever its status, and also as completed if its status is COMPLETED.',
  ),
  createdAt: instant(
    'When the takedown was filed. The metrics of the organization count the takedown at this instant.',
  ),
  updatedAt: instant(
    'When the takedown entered this state. The metrics of the brand count the takedown at this instant.',
  ),
};

const example = {
  organization: 'acme',
  takedownId: 'takedown-310',
  brand: 'metamask',
  asset: { type: 'URL', content: 'metamask-login.example' },
  status: 'TODO',
  createdAt: '2026-03-01T12:10:00.000Z',
  updatedAt: '2026-03-01T12:10:00.000Z',
};

export const takedownFiled = upstreamEvent('TakedownFiled', {
  description: 'A takedown was filed. The event contains the full state of the takedown.',
  fields,
  example,
});

export const takedownStatusChanged = upstreamEvent('TakedownStatusChanged', {
  description:
    'The status of a takedown changed. The event contains the full state of the takedown, as in `TakedownFiled`.',
  fields,
  example: { ...example, status: 'COMPLETED', updatedAt: '2026-03-04T16:45:00.000Z' },
});

export const takedownDeleted = upstreamEvent('TakedownDeleted', {
  description:
    'A takedown was deleted and no longer counts. A later `TakedownFiled` or `TakedownStatusChanged` restores the takedown.',
  fields: {
    organization: slug('The organization that filed the takedown.'),
    takedownId: id('The id of the takedown, as in `TakedownFiled`. The deletion may arrive before the takedown.'),
    deletedAt: instant('When the takedown was deleted.'),
  },
  example: { organization: 'acme', takedownId: 'takedown-287', deletedAt: '2026-03-02T08:10:00.000Z' },
});
