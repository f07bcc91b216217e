import { ValidateBy } from 'class-validator';
import { contentIssue } from '../assets/content-issue.js';

export const IsContent = (): PropertyDecorator =>
  ValidateBy({
    name: 'isContent',
    validator: {
      validate: (value) => contentIssue(value) === undefined,
      defaultMessage: (wrong) => contentIssue(wrong?.value) ?? '',
    },
  });
