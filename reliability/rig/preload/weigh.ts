/**
 * On SIGUSR2 collects what nobody holds any more, and writes what is left, of memory and of descriptors, into a file of
 * WEIGHTS that is named by the process.
 */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { collectGarbage } from '../collect-garbage.js';

let times = 0;

process.on('SIGUSR2', () => {
  collectGarbage();
  const { heapUsed, external, rss } = process.memoryUsage();
  writeFileSync(
    join(process.env['WEIGHTS']!, `${process.pid}.json`),
    JSON.stringify({ times: ++times, descriptors: readdirSync('/dev/fd').length, memory: heapUsed + external, rss }),
  );
});
