/**
 * On SIGUSR2, collects garbage and writes the memory and the number of file descriptors of the process into a file in
 * the folder RESOURCE_REPORTS. The file is named after the process id.
 */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { collectGarbage } from '../collect-garbage.js';

let times = 0;

process.on('SIGUSR2', () => {
  collectGarbage();
  const { heapUsed, external, rss } = process.memoryUsage();
  writeFileSync(
    join(process.env['RESOURCE_REPORTS']!, `${process.pid}.json`),
    JSON.stringify({ times: ++times, descriptors: readdirSync('/dev/fd').length, memory: heapUsed + external, rss }),
  );
});
