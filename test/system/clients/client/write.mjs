/**
 * Writes two files next to this file, as a client team generates them from the reference: `paths.ts`, the types by
 * openapi-typescript, and `examples.ts`, the example of each request body with the type of the body, and a wrong batch
 * that the compiler must reject. Git ignores both files.
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
const { paths } = JSON.parse(readFileSync(document, 'utf8'));
const bodies = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, { requestBody }]) =>
    Object.entries(requestBody?.content ?? {}).flatMap(([type, { example, examples = { one: { value: example } } }]) =>
      Object.values(examples).map(({ value }) => ({ path, method, type, value })),
    ),
  ),
);
const batch = bodies.findLast(({ type }) => type === BATCH).value;
const typeOf = ({ path, method, type }) =>
  `NonNullable<paths['${path}']['${method}']['requestBody']>['content']['${type}']`;
writeFileSync(
  here('examples.ts'),
  `import type { Batch } from '../client.spec.js';
import type { paths } from './paths.js';

${bodies.map((body, n) => `export const EXAMPLE_${n}: ${typeOf(body)} = ${JSON.stringify(body.value, null, 2)};`).join('\n')}
// @ts-expect-error data is of another type
export const WRONG: Batch = [${JSON.stringify({ ...batch[0], data: batch[2].data })}];
`,
);
