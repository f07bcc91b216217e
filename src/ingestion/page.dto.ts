import { ApiProperty } from '@nestjs/swagger';
import { IsNotEmpty, IsOptional, IsString, Matches } from 'class-validator';

const MAX_LIMIT = 100;
export const DEFAULT_LIMIT = 50;
const CURSOR = 'cursor must be the nextCursor of the page before';

/** Which page of a list. */
export class PageRequest {
  /**
   * Items per page, 1 to 100. Default: 50.
   * @example 50
   */
  @IsOptional()
  @Matches(/^(?:[1-9]\d?|100)$/, { message: `limit must be a whole number from 1 to ${MAX_LIMIT}` })
  @ApiProperty({ type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT, required: false })
  limit?: string;

  /** The `nextCursor` of the page before; absent for the first. */
  @IsOptional()
  @IsString({ message: CURSOR })
  @IsNotEmpty({ message: CURSOR })
  cursor?: string;
}

export const limitOf = ({ limit }: PageRequest): number => (limit === undefined ? DEFAULT_LIMIT : Number(limit));
