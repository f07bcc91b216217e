import { upstreamEvent } from '../declaring/declaration.js';
import { id, instant, slug } from '../declaring/fields.js';
import { orEmpty, slugs } from '../declaring/list-fields.js';

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
