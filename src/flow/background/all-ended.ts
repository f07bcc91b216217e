/**
 * Waits until all promises have settled, so that the caller can then close what they use.
 * @throws the error of the first of these promises that rejected, in their order
 */
export const allEnded = async (promises: readonly Promise<unknown>[]): Promise<void> => {
  await Promise.allSettled(promises);
  await Promise.all(promises);
};
