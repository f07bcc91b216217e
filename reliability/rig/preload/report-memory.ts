/**
 * Writes what a process uses of memory into a file of MEMORY_REPORTS, named by its program, five times a second. With
 * MEMORY_LIVE what nobody holds any more is collected before each look.
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

// The supervisor of both has nothing to report.
if (basename(script) === 'main.js') setInterval(report, 200).unref();
