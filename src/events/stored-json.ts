/**
 * Writes a stored value as JSON. Programs that append to the log directly may have stored values that can be parsed, but
 * are nested too deeply to be written.
 * @returns undefined if the value cannot be written
 */
export const writeJson = (value: unknown): string | undefined => {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
};
