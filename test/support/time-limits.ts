import { jest } from '@jest/globals';
import { busyFactor } from './eventually.js';

/** Limits each test and hook of a spec. A spec that needs more calls `jest.setTimeout` itself and says why. */
jest.setTimeout((globalThis as unknown as { TEST_TIMEOUT_MS: number }).TEST_TIMEOUT_MS * busyFactor());
