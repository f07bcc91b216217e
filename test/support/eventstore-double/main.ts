import { parseArgs } from 'node:util';
import { EventStoreDouble } from './server.js';
import { Store } from './store.js';

/**
 * Runs the double as a process. It reports its URL to the parent process and ends with it; without a parent it prints
 * the URL. `--data FILE` keeps the events, so that the process may be killed and restarted. `--port` is the port
 * (default: a free one). `--seconds` limits how long the process runs.
 */
const { values } = parseArgs({
  options: { data: { type: 'string' }, port: { type: 'string', default: '0' }, seconds: { type: 'string' } },
});
if (values.seconds !== undefined) setTimeout(() => process.exit(0), Number(values.seconds) * 1_000).unref();
const double = await EventStoreDouble.start(new Store(values.data), Number(values.port));
if (process.send) {
  process.send({ url: double.url });
  process.once('disconnect', () => process.exit(0));
} else {
  console.log(double.url);
}
