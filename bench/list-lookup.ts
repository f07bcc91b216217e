import { listOf } from '../test/support/list-of.js';
import { requireEqual } from './equal.js';
import { type Goal, measure } from './goal.js';
import { hostsToCheck, candidates, phishingHosts } from './lists.js';
import { inMemory, sequentially } from './paired.js';

const FIND = { name: 'bench-find-host', text: 'select host from bench.hosts where host = any($1::text[])' };

/** Compares looking up a host in one list (parsing, hashing and the hash table) with an index in PostgreSQL. */
export const listLookup: Goal = {
  name: 'G6a',
  run: async (bench) => {
    const hosts = phishingHosts(bench.sizes.quick ? 10_000 : 1_000_000);
    const { check, content } = await listOf(hosts.join('\n'), 'plain');
    requireEqual('hosts in the list', hosts.length, content.table.size);
    const { pool } = await bench.database();
    await pool.query('create schema bench; create table bench.hosts (host text collate "C" not null)');
    await pool.query('insert into bench.hosts select unnest($1::text[])', [hosts]);
    await pool.query('alter table bench.hosts add primary key (host)');
    await pool.query('vacuum analyze bench.hosts');

    const checkedHosts = hostsToCheck(hosts, 2_000);
    const inPostgres = async (host: string): Promise<boolean> =>
      (await pool.query({ ...FIND, values: [candidates(host)] })).rows.length > 0;
    const listed = (host: string): boolean => {
      const result = check(host);
      return typeof result !== 'string' && result.status === 'BLOCKED';
    };
    const found = [];
    for (const host of checkedHosts) found.push(await inPostgres(host));
    requireEqual('verdicts', found, checkedHosts.map(listed));

    let next = 0;
    const pick = (): string => checkedHosts[next++ % checkedHosts.length]!;
    let blockedCount = 0;
    const paired = await measure(bench, 'G6a', {
      base: sequentially(() => inPostgres(pick())),
      target: inMemory(() => {
        if (listed(pick())) blockedCount += 1;
      }),
    });
    if (blockedCount === 0) throw new Error('No host was found in the list');
    return [
      {
        what: `look-up of a host and its parent domains, ${hosts.length.toLocaleString('en-US')} entries in memory`,
        against: 'PostgreSQL = any',
        measured: paired.ratio,
        unit: '×',
        must: 70,
        aim: 300,
        note: `${(1e6 / paired.target.median).toFixed(2)} µs against ${(1e6 / paired.base.median).toFixed(0)} µs`,
      },
    ];
  },
};
