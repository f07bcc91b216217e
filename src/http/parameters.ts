import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsIn, IsNotEmpty, IsOptional, IsString, Matches } from 'class-validator';
import { INVALID_DATE } from './range.js';

// Optional query parameters. They are texts; one that is given twice arrives as an array.

const UP_TO = { 100: /^(?:[1-9]\d?|100)$/, 1000: /^(?:[1-9]\d{0,2}|1000)$/ } as const;

/** How many items an answer has at most: a whole number from 1. */
export const IsLimit = (maximum: keyof typeof UP_TO, usual: number): PropertyDecorator =>
  applyDecorators(
    IsOptional(),
    Matches(UP_TO[maximum], { message: `limit must be a whole number from 1 to ${maximum}` }),
    ApiProperty({
      type: 'integer',
      minimum: 1,
      maximum,
      pattern: UP_TO[maximum].source,
      default: usual,
      required: false,
    }),
  );

/** An opaque text that an earlier answer gave. */
export const IsFromAnswer = (message: string): PropertyDecorator =>
  applyDecorators(IsOptional(), IsString({ message }), IsNotEmpty({ message }));

export const IsDateText = (): PropertyDecorator => applyDecorators(IsOptional(), IsString({ message: INVALID_DATE }));

export const IsGivenOnce = (): PropertyDecorator =>
  applyDecorators(IsOptional(), IsString({ message: '$property must be given once' }));

export const IsBrandSlug = (): PropertyDecorator =>
  applyDecorators(IsGivenOnce(), IsNotEmpty({ message: '$property must not be empty' }));

export const IsOneOf = (values: readonly string[], usual?: string): PropertyDecorator =>
  applyDecorators(
    IsOptional(),
    IsIn(values, { message: `$property must be one of ${values.join(', ')}` }),
    ApiProperty({ enum: [...values], default: usual, required: false }),
  );
