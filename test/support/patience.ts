import { jest } from '@jest/globals';

// A spec that kills the real server holds it alone for minutes, and the others wait in their hooks.
if (process.env['TEST_EVENTSTORE_URL']) jest.setTimeout(600_000);
