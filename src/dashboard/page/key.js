const NAME = 'threat-protection-key';
/** Matches values that a header can contain. The service decides whether the value is a valid key. */
const SENDABLE = /^[\x21-\x7e]{1,200}$/;

/** @returns the key in typed or pasted text, which may be a whole header line; undefined if the text cannot be a key */
export const readKey = (text) => {
  const key = text.trim().replace(/^x-api-key:\s*/i, '');
  return SENDABLE.test(key) ? key : undefined;
};

// If the browser refuses storage, the key is kept until the page is closed.
const storage = () => {
  try {
    return globalThis.sessionStorage;
  } catch {
    return undefined;
  }
};

export const keptKey = () => storage()?.getItem(NAME) ?? undefined;
export const keepKey = (key) => storage()?.setItem(NAME, key);
export const forgetKey = () => storage()?.removeItem(NAME);
