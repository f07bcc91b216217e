/**
 * Writes two files next to this file, as a client team generates them from the reference: `paths.ts`, the types by
 * openapi-typescript, and `examples.ts`, the example batch with the type of a batch, and a wrong batch that the
 * compiler must reject. Git ignores both files.
 * The argument is the path of the document.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const here = (file) => join(import.meta.dirname, file);
const [document] = process.argv.slice(2);
const BATCH = 'application/cloudevents-batch+json';

const generator = here('../../../../node_modules/openapi-typescript/bin/cli.js');
execFileSync(process.execPath, [generator, document, '-o', here('paths.ts')], { stdio: 'pipe' });
const { content } = JSON.parse(readFileSync(document, 'utf8')).paths['/v2/events'].post.requestBody;
const [{ value }] = Object.values(content[BATCH].examples);
writeFileSync(
  here('examples.ts'),
  `import type { Batch } from '../client.spec.js';

export const EXAMPLES: Batch = ${JSON.stringify(value, null, 2)};
// @ts-expect-error data is of another type
export const WRONG: Batch = [${JSON.stringify({ ...value[0], data: value[2].data })}];
`,
);
