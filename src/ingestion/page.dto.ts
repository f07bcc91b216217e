import { IsOpaqueText, IsLimit } from '../http/parameters.js';

const DEFAULT_LIMIT = 50;
export const CURSOR_RULE = 'cursor must be the nextCursor of the previous page';

/** Selects a page of a list. */
export class PageRequest {
  /**
   * Items per page, 1 to 100. Default: 50.
   * @example 50
   */
  @IsLimit(100, DEFAULT_LIMIT)
  limit?: string;

  /** The `nextCursor` of the previous page. Absent for the first page. */
  @IsOpaqueText(CURSOR_RULE)
  cursor?: string;
}

export const limitOf = ({ limit }: PageRequest): number => Number(limit ?? DEFAULT_LIMIT);
