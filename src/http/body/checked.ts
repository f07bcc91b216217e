import { ValidateBy } from 'class-validator';

/** @param issueOf what is wrong with a value; undefined if nothing is */
export const Checked = (issueOf: (value: unknown) => string | undefined): PropertyDecorator =>
  ValidateBy({
    name: 'checked',
    validator: {
      validate: (value) => issueOf(value) === undefined,
      defaultMessage: (wrong) => issueOf(wrong?.value) ?? '',
    },
  });
