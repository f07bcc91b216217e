import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsIn, IsNotEmpty, IsOptional, IsString, Matches } from 'class-validator';

// Optional query parameters. A parameter is a string, or an array if the client has sent it twice.

const UP_TO = { 100: /^(?:[1-9]\d?|100)$/, 1000: /^(?:[1-9]\d{0,2}|1000)$/ } as const;

/** The maximum number of items in a response: a whole number from 1 to `maximum`. */
export const IsLimit = (maximum: keyof typeof UP_TO, defaultValue: number): PropertyDecorator =>
  applyDecorators(
    IsOptional(),
    Matches(UP_TO[maximum], { message: `limit must be a whole number from 1 to ${maximum}` }),
    ApiProperty({
      type: 'integer',
      minimum: 1,
      maximum,
      pattern: UP_TO[maximum].source,
      default: defaultValue,
      required: false,
    }),
  );

/** An opaque text from an earlier response, such as a cursor. */
export const IsOpaqueText = (message: string): PropertyDecorator =>
  applyDecorators(IsOptional(), IsString({ message }), IsNotEmpty({ message }));

/** A date that `readDate` reads, with an error that names the field. */
export const IsDateText = (): PropertyDecorator => IsOptional();

export const IsGivenOnce = (): PropertyDecorator =>
  applyDecorators(IsOptional(), IsString({ message: '$property must be given once' }));

export const IsBrandSlug = (): PropertyDecorator =>
  applyDecorators(IsGivenOnce(), IsNotEmpty({ message: '$property must not be empty' }));

export const IsOneOf = (values: readonly string[], defaultValue?: string): PropertyDecorator =>
  applyDecorators(
    IsOptional(),
    IsIn(values, { message: `$property must be one of ${values.join(', ')}` }),
    ApiProperty({ enum: [...values], default: defaultValue, required: false }),
  );
