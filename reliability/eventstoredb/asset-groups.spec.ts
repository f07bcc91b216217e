// Runs these tests with the log in EventStoreDB.
process.env['TEST_LOG'] = 'EventStoreDB';
await import('../../test/features/asset-groups.spec.js');
