import { jest } from '@jest/globals';
import { GetMetricsHandler } from '../../src/metrics/totals/get-metrics.js';

/** Holds the next metrics query: `asked` resolves once the query has started, `release` ends the query with an error. */
export const holdQuery = (): { readonly asked: Promise<void>; readonly release: () => void } => {
  let release = (): void => {};
  const asked = new Promise<void>((resolve) => {
    jest.spyOn(GetMetricsHandler.prototype, 'execute').mockImplementationOnce(() => {
      resolve();
      return new Promise((_, reject) => (release = () => reject(new Error('too late'))));
    });
  });
  return { asked, release: () => release() };
};
