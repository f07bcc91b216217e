import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { asyncApi } from '../../../src/ingestion/reference/events.reference.js';
import { createScrape } from '../../../src/ops/projection-lag.js';
import { USER_AGENT } from '../../../src/runtime/version.js';
import { readReference } from '../../support/contract.js';
import { operatorCall } from '../../support/operator-call.js';

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };

describe('The version in package.json', () => {
  it('is the version of the OpenAPI document, which the built program writes', () => {
    expect(readReference()).toMatchObject({ info: { version } });
  });

  it('is the version of the AsyncAPI document', () => {
    expect(asyncApi()).toMatchObject({ info: { version } });
  });

  it('is in the User-Agent of requests that the service sends', () => {
    expect(USER_AGENT).toBe(`threat-protection/${version}`);
  });

  it('is printed by `threat-protection --version`', async () => {
    expect(await operatorCall({}, '--version')).toEqual({ code: 0, out: `${version}\n`, err: '' });
  });

  it('is a label of a metric', async () => {
    expect(await createScrape(new Registry(), [])()).toContain(`threat_protection_build_info{version="${version}"} 1`);
  });
});
