import { requireEqual } from './equal.js';
import { CONNECTIONS, startServers, watchGenerator } from './route-overhead.js';
import { type Goal, measure } from './goal.js';
import { requestJson, type Request, rawRequest } from './load.js';

const requests = Array.from({ length: 500 }, (_, n): Request => ({
  method: 'GET',
  path: `/v2/bench/brand?brand=brand-${n + 1}`,
}));

/** Compares a route with one indexed query with bare `node:http` that runs the same named statement. */
export const queryRouteOverhead: Goal = {
  name: 'G2',
  run: async (bench) => {
    const { load, service, key, peer } = await startServers(bench);
    for (const request of requests.slice(0, 20))
      requireEqual('responses', await requestJson(peer, key, request), await requestJson(service, key, request));
    const { watched, note } = watchGenerator(bench);
    const all = (url: string): string[] => requests.map((request) => rawRequest(url, key, request));
    const paired = await measure(bench, 'G2', {
      base: watched(load, peer, all(peer), CONNECTIONS),
      target: watched(load, service, all(service), CONNECTIONS),
    });
    return [
      {
        what: 'the route of G1 with one indexed query',
        against: 'bare node:http + pg named statement',
        measured: paired.ratio,
        must: 0.75,
        aim: 0.85,
        note: note(paired),
      },
    ];
  },
};
