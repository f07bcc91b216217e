import { parseArgs } from 'node:util';
import { EventStoreDouble } from './server.js';
import { Store } from './store.js';

/**
 * The double as a process of its own, for whoever wants a server: says where it is, and ends with its parent where that
 * listens. `--data FILE` keeps what is written, so that it may be killed and started again; `--port` (default: a free one).
 * `--seconds` is how long it lives where nobody ends it.
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
