import { requireEqual } from './equal.js';
import { formatAmount, type Bench, type Goal, measure, type Measured, rates } from './goal.js';
import { requestJson, type Load, type Request, startLoad, loadSlice, rawRequest } from './load.js';
import type { Paired, Slice } from './paired.js';
import { issueKeys, startApi, startPeer } from './services.js';

export const ECHO: Request = {
  method: 'POST',
  path: '/v2/bench/echo',
  body: { content: 'https://wallet-login.example/start' },
};
export const CONNECTIONS = 64;

export interface Servers {
  readonly load: Load;
  /** The URL of the API with the additional routes of the bench. */
  readonly service: string;
  readonly key: string;
  /** The URL of the peer. */
  readonly peer: string;
}

/** Starts the API with the routes of the bench, the peer and the load generator, once per run. */
export const startServers = (bench: Bench): Promise<Servers> =>
  bench.shared('servers', async () => {
    const database = await bench.database();
    await database.pool.query(`
      insert into read.brands (organization, brand, name, registered, version, event_id)
      select 'org-1', 'brand-' || n, 'Brand ' || n, true, 0, gen_random_uuid() from generate_series(1, 1000) n`);
    const { url } = await startApi(bench, database, 'bench/bench-app.js');
    const peer = await startPeer(bench, database);
    const [key] = await issueKeys(database, ['read'], ['org-1']);
    return { load: await startLoad(bench), service: url, key: key!, peer };
  });

/**
 * Records how busy the load generator is. If it is busy all the time, the figures are those of the generator instead of
 * the server.
 */
export const watchGenerator = (bench: Bench, busyWaits = false) => {
  let busiest = 0;
  const watched = (load: Load, url: string, requests: readonly string[], connections: number): Slice =>
    loadSlice(load, url, requests, connections, ({ busy }) => (busiest = Math.max(busiest, busy)), busyWaits);
  const note = (paired: Paired): string => {
    if (busiest > 0.95) bench.say(`The load generator was busy for ${formatAmount(busiest * 100)} % of a core`);
    return `${rates(paired, 'per second')}; generator ${Math.round(busiest * 100)} % of a core`;
  };
  return { watched, note };
};

/**
 * Compares a route with key, rate limit, validation and counting with bare `node:http` that returns the same response.
 */
export const routeOverhead: Goal = {
  name: 'G1',
  run: async (bench) => {
    const { load, service, key, peer } = await startServers(bench);
    requireEqual('responses', await requestJson(peer, key, ECHO), await requestJson(service, key, ECHO));
    const { watched, note } = watchGenerator(bench, true);
    const paired = await measure(bench, 'G1', {
      base: watched(load, peer, [rawRequest(peer, key, ECHO)], CONNECTIONS),
      target: watched(load, service, [rawRequest(service, key, ECHO)], CONNECTIONS),
    });
    const line: Measured = {
      what: 'an authenticated, validated route without a database',
      against: 'bare node:http',
      measured: paired.ratio,
      must: 0.46,
      aim: 0.58,
      note: note(paired),
    };
    const rows: (string | number)[][] = [];
    for (const connections of bench.sizes.quick ? [1, 4] : [1, 4, 16, 64, 256]) {
      const ask = async (url: string) => {
        const { hostname, port } = new URL(url);
        const volley = {
          host: hostname,
          port: Number(port),
          requests: [rawRequest(url, key, ECHO)],
          connections,
          busyWaits: true,
        };
        return load.run({ ...volley, ms: bench.sizes.schedule.ms });
      };
      const [base, target] = [await ask(peer), await ask(service)];
      const ms = (value: number): string => value.toFixed(2);
      rows.push([
        connections,
        formatAmount(target.perSecond),
        ms(target.p50),
        ms(target.p99),
        formatAmount(base.perSecond),
      ]);
    }
    const columns = ['connections', 'requests per second', 'p50, ms', 'p99, ms', 'bare node:http per second'];
    bench.keepGrowth({ what: 'The route of G1 by number of connections', columns, rows });
    return [line];
  },
};
