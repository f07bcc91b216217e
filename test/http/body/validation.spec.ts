import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  getMetadataStorage,
  IsArray,
  IsIn,
  IsOptional,
  IsString,
  Length,
  Matches,
  validateSync,
} from 'class-validator';
import { Invalid } from '../../../src/errors.js';
import { Checked, DtoValidation } from '../../../src/http/body/validation.js';

class Several {
  @IsString({ message: 'name is required' })
  @Length(1, 5, { message: 'name must be 1 to 5 characters' })
  name!: string;

  @IsOptional()
  @IsIn(['red', 'blue'], { message: 'color must be red or blue' })
  color?: string;

  @IsOptional()
  @IsArray({ message: 'tags must be an array' })
  @IsString({ each: true, message: 'each tag must be a string' })
  tags?: string[];

  @IsOptional()
  @Matches(/^\d+$/, { message: 'limit must be a number' })
  @Checked((value) => (value === '13' ? 'limit must not be 13' : undefined))
  limit?: string;

  @IsOptional()
  note?: unknown;
}

const NAMES = [undefined, null, '', 'Sites', 'too long', 7];
const FIELDS = [
  {},
  ...[null, 'red', 'green', 7].map((color) => ({ color })),
  ...[null, [], ['a', 'b'], ['a', 7], 'a'].map((tags) => ({ tags })),
  ...[null, '12', '13', 'x', 12].map((limit) => ({ limit })),
  ...[null, { any: 'value' }].map((note) => ({ note })),
];

/** Validates an object without the service. */
const expectedMessages = (sent: object): string[] => {
  const errors = validateSync(Object.assign(new Several(), sent), { stopAtFirstError: true });
  return errors.flatMap(({ constraints }) => Object.values(constraints ?? {}));
};

const messagesFor = (validation: DtoValidation, sent: object): readonly string[] => {
  try {
    validation.transform(sent, { type: 'body', metatype: Several });
    return [];
  } catch (error) {
    return (error as Invalid).issues;
  }
};

afterEach(() => void jest.restoreAllMocks());

describe('The validation of a request', () => {
  it('accepts and rejects the same objects as class-validator, with the same messages', () => {
    const validation = new DtoValidation();
    for (const name of NAMES)
      for (const fields of FIELDS) {
        const sent = { name, ...fields };
        expect({ sent, messages: messagesFor(validation, sent) }).toEqual({ sent, messages: expectedMessages(sent) });
      }
  });

  it('collects the rules of a DTO only once for all valid objects', () => {
    const validation = new DtoValidation();
    const collect = jest.spyOn(getMetadataStorage(), 'getTargetValidationMetadatas');
    for (let n = 0; n < 3; n += 1) messagesFor(validation, { name: 'Sites', color: 'red', limit: '12' });
    expect(collect).toHaveBeenCalledTimes(1);
  });
});
