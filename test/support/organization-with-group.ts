import { expect } from '@jest/globals';
import { KeyRing } from '../../src/api-keys/key-ring.js';
import type { TestApp } from './app.js';

/** Issues a key to an organization, which creates its group 1. @returns the key */
export const organizationWithGroup = async (app: TestApp, organization: string): Promise<string> => {
  const key = await app.issueKey({ organization, scopes: ['read', 'write'] });
  await app.app.get(KeyRing).refresh();
  const json = { name: 'group' };
  expect((await app.call('/v2/organization/asset-groups', { method: 'POST', key, json })).status).toBe(201);
  return key;
};
