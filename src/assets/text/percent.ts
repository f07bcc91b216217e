/** Percent-decodes once. If an escape is invalid, only escapes of ASCII characters are decoded. */
export const decodeOnce = (text: string): string => {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text.replace(/%([2-7][0-9a-f])/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  }
};
