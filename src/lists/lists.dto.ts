import { ApiProperty } from '@nestjs/swagger';
import { LIST_NAMES, type ListName } from './built-lists.js';
import { IsGivenOnce } from '../http/parameters.js';

export class ListsRequest {
  /** An API key, for clients that cannot send the header `X-API-KEY`. */
  @IsGivenOnce()
  key?: string;
}

export class ListRequest extends ListsRequest {
  /**
   * The `version` of an earlier response. Absent, or no longer known: the response has the whole list.
   * @example '12-0123456789abcdef'
   */
  @IsGivenOnce()
  since?: string;
}

class NotCovered {
  /** The id of the source. */
  source!: string;
  /** `lookups`, `not-redistributed`, `not-read`, or `imitations` if only names that imitate others are missing. */
  reason!: string;
}

/** A list, and the version that it has now. */
export class DescribedList {
  @ApiProperty({ enum: LIST_NAMES })
  readonly name!: ListName;
  /** @example '12-0123456789abcdef' */
  readonly version!: string;
  readonly entries!: number;
  @ApiProperty({ type: [String], description: 'The ids of the sources in `all-8b`.' })
  readonly covers!: readonly string[];
  @ApiProperty({ type: [NotCovered], description: 'The sources that are not, or not all, in `all-8b`.' })
  readonly notCovered!: readonly NotCovered[];
  /** The version has everything that was stored before this instant. The instant moves on at least hourly. */
  @ApiProperty({ type: 'string', format: 'date-time' })
  readonly cutAt!: string;
  /** SHA-256 of the sorted hashes, in hexadecimal digits. */
  readonly sha256!: string;
  /** Ed25519 over name, version, `sha256` and `cutAt`, joined by line feeds; base64. Absent if lists are not signed. */
  readonly signature?: string;
  /** The 32 bytes of the public key in base64. Absent if lists are not signed. */
  readonly publicKey?: string;
  /** A client that could not update for so long holds a stale list. */
  readonly validSeconds!: number;
  /** How long to wait before the next request without `Prefer: wait`. */
  readonly minimumWaitSeconds!: number;
}

/** Ascending numbers in the Rice-Golomb coding of Safe Browsing v5. */
class RiceCodedNumbers {
  /** The first number in decimal digits. */
  firstValue!: string;
  riceParameter!: number;
  /** The number of differences: one less than the numbers. */
  entriesCount!: number;
  @ApiProperty({ type: 'string', format: 'byte' })
  encodedData!: string;
}

/** A whole list, or what changes in the version that the client has. */
export class LocalList {
  @ApiProperty({ enum: LIST_NAMES })
  readonly name!: ListName;
  readonly version!: string;
  /** Whether the parts apply to the version in `since`. Otherwise they apply to an empty list. */
  readonly partialUpdate!: boolean;
  @ApiProperty({
    description: 'Indices into the sorted list of before. Absent if nothing is removed.',
    required: false,
  })
  readonly removals?: RiceCodedNumbers;
  @ApiProperty({ description: 'The added hashes, of 8 bytes each. Absent if nothing is added.', required: false })
  readonly additions?: RiceCodedNumbers;
  /** SHA-256 of all sorted hashes after the update. If it differs, drop the list and omit `since`. */
  readonly sha256!: string;
  @ApiProperty({ type: 'string', format: 'date-time' })
  readonly cutAt!: string;
  readonly signature?: string;
  readonly minimumWaitSeconds!: number;
}
