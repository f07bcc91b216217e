// The same tests, with every case.
process.env['TEST_SENDERS'] = 'all';
await import('../../test/system/clients/senders.spec.js');
