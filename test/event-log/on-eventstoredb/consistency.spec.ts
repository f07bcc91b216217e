// The same tests, with the log in EventStoreDB.
process.env['TEST_LOG'] = 'EventStoreDB';
await import('../../features/consistency.spec.js');
