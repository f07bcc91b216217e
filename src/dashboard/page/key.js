const NAME = 'threat-protection-key';
/** What a header can carry; whether it is a key, the service says. */
const SENDABLE = /^[\x21-\x7e]{1,200}$/;

/** @returns the key in a text that was typed or pasted, perhaps as a header line; undefined where it can be none */
export const readKey = (text) => {
  const key = text.trim().replace(/^x-api-key:\s*/i, '');
  return SENDABLE.test(key) ? key : undefined;
};

// A browser may refuse to keep anything; then the key lasts until the page is left.
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
