import { upstreamEvent } from '../declaring/declaration.js';
import { asset, id, instant, slug, upperCaseName } from '../declaring/fields.js';

const STATUSES = ['PENDING', 'APPROVED', 'AUTO_APPROVED', 'BLOCKED', 'REJECTED', 'WATCHLISTED'] as const;

export const threatStatusChanged = upstreamEvent('ThreatStatusChanged', {
  description: 'A threat was found, or its status changed. The event contains the full state of the threat.',
  fields: {
    organization: slug('The organization that the threat targets.'),
    threatId: id('Identifies the threat within the organization.'),
    asset: asset('The threatening asset.'),
    status: upperCaseName(
      STATUSES,
      'APPROVED, AUTO_APPROVED and BLOCKED count as `newThreats`, WATCHLISTED counts as `threatsWatchlisted`.',
    ),
    createdAt: instant('When the threat was found. The threat is counted at this instant.'),
    updatedAt: instant('When the threat entered this state.'),
  },
  example: {
    organization: 'acme',
    threatId: 'threat-5512',
    asset: { type: 'URL', content: 'metamask-login.example' },
    status: 'APPROVED',
    createdAt: '2026-03-01T11:58:00.000Z',
    updatedAt: '2026-03-01T12:00:00.000Z',
  },
});

export const threatDeleted = upstreamEvent('ThreatDeleted', {
  description: 'A threat was deleted and no longer counts. A later `ThreatStatusChanged` restores the threat.',
  fields: {
    organization: slug('The organization that the threat targets.'),
    threatId: id('The id of the threat, as in `ThreatStatusChanged`. The deletion may arrive before the threat.'),
    deletedAt: instant('When the threat was deleted.'),
  },
  example: { organization: 'acme', threatId: 'threat-5498', deletedAt: '2026-03-02T08:05:00.000Z' },
});
