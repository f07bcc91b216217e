import { ValidateBy } from 'class-validator';

/**
 * Validates a field with a function.
 * @param issueOf returns the error message for a value; undefined if the value is valid
 */
export const Checked = (issueOf: (value: unknown) => string | undefined): PropertyDecorator =>
  ValidateBy({
    name: 'checked',
    validator: {
      validate: (value) => issueOf(value) === undefined,
      defaultMessage: (wrong) => issueOf(wrong?.value) ?? '',
    },
  });
