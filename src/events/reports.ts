import type { Fields } from './fields.js';

export interface ReportFiled {
  readonly type: 'ReportFiled';
  readonly data: {
    readonly organization: string;
    readonly reportId: string;
    readonly brands: readonly string[];
    readonly createdAt: number;
    readonly updatedAt: number;
  };
}

export interface ReportDeleted {
  readonly type: 'ReportDeleted';
  readonly data: { readonly organization: string; readonly reportId: string; readonly deletedAt: number };
}

export const reportFiled = (fields: Fields): ReportFiled['data'] => ({
  organization: fields.slug('organization'),
  reportId: fields.id('reportId'),
  brands: fields.slugs('brands'),
  createdAt: fields.instant('createdAt'),
  updatedAt: fields.instant('updatedAt'),
});

export const reportDeleted = (fields: Fields): ReportDeleted['data'] => ({
  organization: fields.slug('organization'),
  reportId: fields.id('reportId'),
  deletedAt: fields.instant('deletedAt'),
});
