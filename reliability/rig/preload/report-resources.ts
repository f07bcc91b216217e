/**
 * On SIGUSR2 collects garbage, and writes memory and file descriptors of the process into a file in WEIGHTS, named by
 * its process id.
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
