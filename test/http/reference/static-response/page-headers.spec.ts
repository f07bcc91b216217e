import { describe, expect, it } from '@jest/globals';
import { sharedApp } from '../../../support/open-for-tests.js';

const app = sharedApp();

describe('A page that stores an API key', () => {
  it.each(['/docs', '/docs/', '/docs/start.js', '/dashboard', '/dashboard/any/main.js'])(
    'may not be framed, sends no referrer and is isolated from windows of other sites: %s',
    async (path) => {
      const { status, headers } = await fetch(app.url + path);
      const names = ['x-frame-options', 'referrer-policy', 'cross-origin-opener-policy'];
      expect([status, ...names.map((name) => headers.get(name))]).toEqual([200, 'DENY', 'no-referrer', 'same-origin']);
    },
  );
});
