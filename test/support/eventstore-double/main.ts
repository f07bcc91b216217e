import { EventStoreDouble } from './server.js';

/** The double as a process of its own, for whoever wants a server: says where it is, and ends with its parent. */
const double = await EventStoreDouble.start();
if (process.send) {
  process.send({ url: double.url });
  process.once('disconnect', () => process.exit(0));
} else {
  console.log(double.url);
}
