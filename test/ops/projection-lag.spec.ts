import { beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { createScrape } from '../../src/ops/projection-lag.js';
import { TestClock } from '../support/test-clock.js';

let clock: TestClock;
let reads: number;
/** Ends the update that is in progress. */
let end: () => void;
let scrape: () => Promise<string>;

beforeEach(() => {
  [clock, reads] = [new TestClock(), 0];
  const read = (): Promise<void> => {
    reads += 1;
    return new Promise((resolve) => (end = resolve));
  };
  scrape = createScrape(new Registry(), [read], clock);
});

describe('createScrape', () => {
  it('shares one update among all scrapes until 1 s after it has ended', async () => {
    const scrapes = Array.from({ length: 50 }, () => scrape());
    // No second update starts while the first one is in progress, however long it takes.
    await clock.advance(5_000);
    scrapes.push(scrape());
    end();
    expect(new Set(await Promise.all(scrapes)).size).toBe(1);
    await clock.advance(990);
    await scrape();
    expect(reads).toBe(1);
    await clock.advance(10);
    const next = scrape();
    expect(reads).toBe(2);
    end();
    expect(await next).toContain('threat_protection_read_models_up 1');
  });
});
