/** In Unicode code points. */
const MAX_LENGTH = 4_096;

/** Why this cannot be asked or grouped; undefined where it can. */
export const contentIssue = (content: unknown): string | undefined => {
  if (typeof content !== 'string' || content === '') return 'Content is required';
  // Code points are counted only where the cheaper count of UTF-16 units does not settle it.
  if (content.length > MAX_LENGTH && (content.length > 2 * MAX_LENGTH || Array.from(content).length > MAX_LENGTH))
    return `Content must be at most ${MAX_LENGTH} characters`;
  return undefined;
};
