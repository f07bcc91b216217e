import { contentIssue } from '../assets/asset.js';
import { assetHash, assetOf } from '../assets/asset-key.js';
import { parseContent } from '../assets/parse-content.js';
import { Invalid } from '../errors.js';
import { isUpperCaseName } from '../events/declaring/fields.js';
import { type RequestedRange, type Range, readRange } from '../http/parameters.js';
import { type Filter, isFilteredBy, LISTED_KIND, type ListedKind } from '../events/listed-items.js';
import { limit } from '../limits.js';

/** The asset of a filter, parsed as in the asset check. */
export interface RequestedAsset {
  readonly type: string;
  /** The hash of the asset's normalised key. */
  readonly hash: string;
}

/** The filters of a list. */
interface Criteria {
  readonly organization: string;
  /** As in `listed-items.ts`. */
  readonly kind: number;
  /** Undefined: all records of the organization. */
  readonly brand: string | undefined;
  /** Sorted. Undefined: records in all statuses. */
  readonly statuses: readonly string[] | undefined;
  readonly types: readonly string[] | undefined;
  readonly asset: RequestedAsset | undefined;
}

export interface RequestedSelection extends Criteria {
  readonly range: RequestedRange;
}

export interface Selection extends Criteria {
  readonly range: Range;
}

/** The parameters of a request. */
export interface Parameters {
  readonly startDate?: string;
  readonly endDate?: string;
  readonly brandSlug?: string;
  readonly status?: string;
  readonly assetType?: string;
  readonly content?: string;
}

/** Maximum number of values of one parameter. */
const MAX_VALUES = limit('one filter of a list', 50, 'values', 'request', '400');
/** Maximum number of combinations of `status` and `assetType`. */
const MAX_COMBINATIONS = limit('two filters of a list', 200, 'combinations', 'request', '400');

const parseNames = (parameter: string, text: string | undefined): readonly string[] | undefined => {
  if (text === undefined) return undefined;
  const names = [...new Set(text.split(','))].sort();
  if (!names.every(isUpperCaseName))
    throw new Invalid(`${parameter} must be one or more upper-case names, separated by commas`);
  if (names.length > MAX_VALUES) throw new Invalid(`${parameter} must have at most ${MAX_VALUES} names`);
  return names;
};

const parseAsset = (content: string | undefined): RequestedAsset | undefined => {
  if (content === undefined) return undefined;
  const issue = contentIssue(content);
  if (issue !== undefined) throw new Invalid(issue);
  const { parsed, code, internalAddress } = parseContent(content);
  if (code === 'parse-error') throw new Invalid('Content could not be parsed as an asset');
  const asset = parsed ? assetOf(content, parsed) : { type: 'URL', content: internalAddress!.name };
  return { type: asset.type, hash: assetHash(asset) };
};

const FILTERS: readonly (readonly [name: keyof Parameters, filter: Filter])[] = [
  ['brandSlug', 'brand'],
  ['status', 'status'],
  ['assetType', 'asset'],
  ['content', 'asset'],
];

/** @throws Invalid */
export const readSelection = (kind: ListedKind, organization: string, parameters: Parameters): RequestedSelection => {
  for (const [name, filter] of FILTERS)
    if (parameters[name] !== undefined && !isFilteredBy(kind, filter))
      throw new Invalid(`A ${kind} has no ${filter}: omit ${name}`);
  const { startDate, endDate, brandSlug: brand, status, assetType, content } = parameters;
  const range = readRange(startDate, endDate);
  const statuses = parseNames('status', status);
  const types = parseNames('assetType', assetType);
  if ((statuses?.length ?? 1) * (types?.length ?? 1) > MAX_COMBINATIONS)
    throw new Invalid(`status and assetType must have at most ${MAX_COMBINATIONS} combinations`);
  const asset = parseAsset(content);
  return { organization, kind: LISTED_KIND[kind], range, brand, statuses, types, asset };
};
