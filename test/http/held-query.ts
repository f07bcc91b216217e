import { jest } from '@jest/globals';
import { GetMetricsHandler } from '../../src/metrics/get-metrics.js';

/** Holds the next metrics query. `started` resolves when the query starts. `release` ends the query with an error. */
export const holdQuery = (): { readonly started: Promise<void>; readonly release: () => void } => {
  let release = (): void => {};
  const started = new Promise<void>((resolve) => {
    jest.spyOn(GetMetricsHandler.prototype, 'execute').mockImplementationOnce(() => {
      resolve();
      return new Promise((_, reject) => (release = () => reject(new Error('too late'))));
    });
  });
  return { started, release: () => release() };
};
