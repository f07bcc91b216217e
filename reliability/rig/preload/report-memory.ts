/**
 * Writes the memory usage of a process into a file in MEMORY_REPORTS five times a second. With MEMORY_LIVE it collects
 * garbage before each measurement.
 */
import { writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { collectGarbage } from '../collect-garbage.js';

const script = process.argv[1]!;
const file = join(process.env['MEMORY_REPORTS']!, `${basename(dirname(script))}.json`);

const report = (): void => {
  if (process.env['MEMORY_LIVE']) collectGarbage();
  writeFileSync(file, JSON.stringify(process.memoryUsage()));
};

// The supervisor does not report its memory.
if (basename(script) === 'main.js') setInterval(report, 200).unref();
