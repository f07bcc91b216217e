// Runs the tests of the senders with all cases.
process.env['TEST_SENDERS'] = 'all';
await import('../../test/system/clients/senders.spec.js');
