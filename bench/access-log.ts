import { CONNECTIONS, ECHO, startServers, watchGenerator } from './route-overhead.js';
import { type Goal, measure } from './goal.js';
import { rawRequest } from './load.js';
import { issueKeys, startApi } from './services.js';

/** Compares the route of G1 with and without the access log. This process reads the log, as a log collector would. */
export const accessLog: Goal = {
  name: 'G1b',
  run: async (bench) => {
    const { load } = await startServers(bench);
    const database = await bench.database();
    const start = (setting: string) => startApi(bench, database, 'bench/bench-app.js', { ACCESS_LOG: setting });
    const [withoutLog, withLog] = [await start('off'), await start('on')];
    const [key] = await issueKeys(database, ['read'], ['org-1']);
    const { watched, note } = watchGenerator(bench, true);
    const paired = await measure(bench, 'G1b', {
      base: watched(load, withoutLog.url, [rawRequest(withoutLog.url, key!, ECHO)], CONNECTIONS),
      target: watched(load, withLog.url, [rawRequest(withLog.url, key!, ECHO)], CONNECTIONS),
    });
    return [
      {
        what: 'the route of G1 with the access log',
        against: 'the same route with ACCESS_LOG=off',
        measured: paired.ratio,
        must: 0.95,
        aim: 0.97,
        note: note(paired),
      },
    ];
  },
};
