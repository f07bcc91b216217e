import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, Matches } from 'class-validator';
import { IsOpaqueText, IsLimit } from '../../http/parameters.js';
import { KIND_NAMES } from '../../events/listed-items.js';
import { MALFORMED_ID } from './feed-ids.js';
import { limit } from '../../limits.js';

export const MAX_ELEMENTS = limit('page of the feed', 1_000, 'elements', 'request', '400');
const NAMES = KIND_NAMES.join('|');

export class FeedRequest {
  /** The `id` of the last element that the client has processed. If absent, the feed starts from the beginning. */
  @IsOpaqueText(MALFORMED_ID)
  lastEventId?: string;

  /**
   * How long to wait if there is no new element, 0 to 25,000 milliseconds. Default: 0.
   * @example 20000
   */
  @IsOptional()
  @Matches(/^(?:\d{1,4}|1\d{4}|2[0-4]\d{3}|25000)$/, { message: 'timeout must be 0 to 25000 milliseconds' })
  @ApiProperty({ type: 'integer', minimum: 0, maximum: 25_000, default: 0, required: false })
  timeout?: string;

  /**
   * Returns only records of these kinds, separated by commas. A client that keeps a copy must send the same kinds in
   * each request.
   * @example 'threat,takedown'
   */
  @IsOptional()
  @Matches(new RegExp(`^(?:${NAMES})(?:,(?:${NAMES}))*$`), {
    message: `types must be one or more of ${KIND_NAMES.join(', ')}, separated by commas`,
  })
  types?: string;

  /**
   * Maximum number of elements, 1 to 1,000. Default: 1,000. A response is also limited to 4 MiB.
   * @example 1000
   */
  @IsLimit(1000, MAX_ELEMENTS)
  limit?: string;
}
