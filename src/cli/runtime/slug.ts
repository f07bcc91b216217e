import { Invalid } from '../../errors.js';
import { isSlug } from '../../events/declaring/fields.js';

/**
 * @param argument the argument or option, for the message
 * @throws Invalid if the text is not a slug
 */
export const requireSlug = (text: string, argument: string): void => {
  if (!isSlug(text)) throw new Invalid(`${argument} must be a slug: 1 to 64 of a-z 0-9 -, not beginning with -`);
};
