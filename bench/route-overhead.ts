import { requireEqual } from './equal.js';
import { amount, type Bench, type Goal, measure, type Measured, rates } from './goal.js';
import { askOnce, type Load, type Request, startLoad, volleys, wire } from './load.js';
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
  /** The API with the bench's routes. */
  readonly service: string;
  readonly key: string;
  /** The plain server. */
  readonly plain: string;
}

/** Starts the API with the bench's routes and the plain server on one database, each in a process, once per run. */
export const startServers = (bench: Bench): Promise<Servers> =>
  bench.shared('servers', async () => {
    const database = await bench.database();
    await database.pool.query(`
      insert into read.brands (organization, brand, name, registered, version, event_id)
      select 'org-1', 'brand-' || n, 'Brand ' || n, true, 0, gen_random_uuid() from generate_series(1, 1000) n`);
    const { url } = await startApi(bench, database, 'bench/bench-app.js');
    const plain = await startPeer(bench, database);
    const [key] = await issueKeys(database, ['read'], ['org-1']);
    return { load: await startLoad(bench), service: url, key: key!, plain };
  });

/** Records how busy the load generator is. If it is busier than the server, the figures are not those of the server. */
export const watchGenerator = (bench: Bench, awake = false) => {
  let busiest = 0;
  const watched = (load: Load, url: string, requests: readonly string[], connections: number): Slice =>
    volleys(load, url, requests, connections, ({ busy }) => (busiest = Math.max(busiest, busy)), awake);
  const note = (paired: Paired): string => {
    if (busiest > 0.95) bench.say(`The load generator was busy for ${amount(busiest * 100)} % of a core`);
    return `${rates(paired, 'per second')}; generator ${Math.round(busiest * 100)} % of a core`;
  };
  return { watched, note };
};

/** Compares a route with key, rate limit, validation and counting with `node:http` with the same work and response. */
export const routeOverhead: Goal = {
  name: 'G1',
  run: async (bench) => {
    const { load, service, key, plain } = await startServers(bench);
    requireEqual('answers', await askOnce(plain, key, ECHO), await askOnce(service, key, ECHO));
    const { watched, note } = watchGenerator(bench, true);
    const paired = await measure(bench, 'G1', {
      base: watched(load, plain, [wire(plain, key, ECHO)], CONNECTIONS),
      target: watched(load, service, [wire(service, key, ECHO)], CONNECTIONS),
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
          requests: [wire(url, key, ECHO)],
          connections,
          awake: true,
        };
        return load.fire({ ...volley, ms: bench.sizes.schedule.ms });
      };
      const [base, target] = [await ask(plain), await ask(service)];
      const ms = (value: number): string => value.toFixed(2);
      rows.push([connections, amount(target.perSecond), ms(target.p50), ms(target.p99), amount(base.perSecond)]);
    }
    const columns = ['connections', 'requests per second', 'p50, ms', 'p99, ms', 'bare node:http per second'];
    bench.keepGrowth({ what: 'The route of G1 by number of connections', columns, rows });
    return [line];
  },
};
