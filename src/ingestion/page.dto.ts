import { IsFromAnswer, IsLimit } from '../http/parameters.js';

const DEFAULT_LIMIT = 50;
export const NO_CURSOR = 'cursor must be the nextCursor of the page before';

/** Which page of a list. */
export class PageRequest {
  /**
   * Items per page, 1 to 100. Default: 50.
   * @example 50
   */
  @IsLimit(100, DEFAULT_LIMIT)
  limit?: string;

  /** The `nextCursor` of the page before; absent for the first. */
  @IsFromAnswer(NO_CURSOR)
  cursor?: string;
}

export const limitOf = ({ limit }: PageRequest): number => Number(limit ?? DEFAULT_LIMIT);
