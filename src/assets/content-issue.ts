/** Maximum length of content in Unicode code points. */
const MAX_LENGTH = 4_096;

/** Returns why content cannot be checked or grouped; undefined if the content is valid. */
export const contentIssue = (content: unknown): string | undefined => {
  if (typeof content !== 'string' || content === '') return 'Content is required';
  // Counting code points is expensive, so they are counted only if the number of UTF-16 units does not decide.
  if (content.length > MAX_LENGTH && (content.length > 2 * MAX_LENGTH || Array.from(content).length > MAX_LENGTH))
    return `Content must be at most ${MAX_LENGTH} characters`;
  return undefined;
};
