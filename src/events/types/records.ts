import { upstreamEvent } from '../declaring/declaration.js';
import { id, instant, slug, orEmpty, slugs, asset, upperCaseName, optional } from '../declaring/fields.js';

export const reportFiled = upstreamEvent('ReportFiled', {
  description: 'A report was filed or changed. The event contains the full state of the report.',
  fields: {
    organization: slug('The organization that filed the report.'),
    reportId: id('Identifies the report within the organization.'),
    brands: orEmpty(slugs('The brands that the report is about. Duplicates count once.')),
    createdAt: instant('When the report was filed. The report is counted at this instant.'),
    updatedAt: instant('When the report entered this state.'),
  },
  example: {
    organization: 'acme',
    reportId: 'report-2041',
    brands: ['metamask', 'uniswap'],
    createdAt: '2026-03-01T09:30:00.000Z',
    updatedAt: '2026-03-01T09:30:00.000Z',
  },
});

export const reportDeleted = upstreamEvent('ReportDeleted', {
  description: 'A report was deleted and no longer counts. A later `ReportFiled` restores the report.',
  fields: {
    organization: slug('The organization that filed the report.'),
    reportId: id('The id of the report, as in `ReportFiled`. The deletion may arrive before the report.'),
    deletedAt: instant('When the report was deleted.'),
  },
  example: { organization: 'acme', reportId: 'report-1987', deletedAt: '2026-03-02T08:00:00.000Z' },
});

const THREAT_STATUSES = ['PENDING', 'APPROVED', 'AUTO_APPROVED', 'BLOCKED', 'REJECTED', 'WATCHLISTED'] as const;

export const threatStatusChanged = upstreamEvent('ThreatStatusChanged', {
  description: 'A threat was found, or its status changed. The event contains the full state of the threat.',
  fields: {
    organization: slug('The organization that the threat targets.'),
    threatId: id('Identifies the threat within the organization.'),
    asset: asset('The threatening asset.'),
    status: upperCaseName(
      THREAT_STATUSES,
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

const TAKEDOWN_STATUSES = [
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
    TAKEDOWN_STATUSES,
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
