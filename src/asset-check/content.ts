import { ValidateBy } from 'class-validator';

/** In Unicode code points. */
const LONGEST = 4_096;

/** @returns why this cannot be asked, undefined where it can */
export const validateContent = (content: unknown): string | undefined => {
  if (typeof content !== 'string' || content === '') return 'Content is required';
  // Code points are counted only where the cheaper count of UTF-16 units does not settle it.
  if (content.length > LONGEST && (content.length > 2 * LONGEST || Array.from(content).length > LONGEST))
    return `Content must be at most ${LONGEST} characters`;
  return undefined;
};

export const IsContent = (): PropertyDecorator =>
  ValidateBy({
    name: 'isContent',
    validator: {
      validate: (value) => validateContent(value) === undefined,
      defaultMessage: (wrong) => validateContent(wrong?.value) ?? '',
    },
  });
