const NAME = 'threat-protection-key';
/** Matches values that a header can contain. The service decides whether the value is a valid key. */
const SENDABLE = /^[\x21-\x7e]{1,200}$/;

/** @returns the key in typed or pasted text, which may be a whole header line; undefined if the text cannot be a key */
export const readKey = (text) => {
  const key = text.trim().replace(/^x-api-key:\s*/i, '');
  return SENDABLE.test(key) ? key : undefined;
};

/** Uses a storage of the browser; if the browser refuses it, nothing is kept longer than the page. */
export const tryStorage = (use) => {
  try {
    return use() ?? undefined;
  } catch {
    return undefined;
  }
};

export const keptKey = () => tryStorage(() => sessionStorage.getItem(NAME));
export const keepKey = (key) => tryStorage(() => sessionStorage.setItem(NAME, key));
export const forgetKey = () => tryStorage(() => sessionStorage.removeItem(NAME));
