const IS_BROKEN = /%(?![0-9a-f]{2})/i;

/** Percent-decodes once. If an escape is invalid, only escapes of ASCII characters are decoded. */
export const decodeOnce = (text: string): string => {
  if (!text.includes('%')) return text;
  // The test is for speed, because an exception takes the time of thousands of characters.
  if (!IS_BROKEN.test(text))
    try {
      return decodeURIComponent(text);
    } catch {
      // The escapes are not UTF-8.
    }
  return text.replace(/(?:%[2-7][0-9a-f])+/gi, decodeURIComponent);
};
