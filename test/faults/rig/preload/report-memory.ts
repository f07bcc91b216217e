/**
 * Writes what a process uses of memory into a file of MEMORY_REPORTS, named by its program, five times a second. With
 * MEMORY_LIVE what nobody holds any more is collected before each look.
 */
import { writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const script = process.argv[1]!;
const file = join(process.env['MEMORY_REPORTS']!, `${basename(dirname(script))}.json`);

setFlagsFromString('--expose-gc');
const collect = process.env['MEMORY_LIVE'] ? (runInNewContext('gc') as () => void) : () => {};

const report = (): void => {
  collect();
  writeFileSync(file, JSON.stringify(process.memoryUsage()));
};

// The supervisor of both has nothing to report.
if (basename(script) === 'main.js') setInterval(report, 200).unref();
