import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Outcome, Scenario } from '../../scenario.js';
import { sendRequest } from '../../rig/http-request.js';
import { call } from '../../rig/processes.js';
import type { RunContext } from '../../rig/run-context.js';
import { eventually } from '../../../test/support/eventually.js';
import { cloudEvent, sent } from '../../../test/support/upstream.js';
import { sendAll } from '../../rig/send-all.js';
import { type RunningService, startAttackTarget, TENANTS } from '../../rig/shared-services.js';

interface Scale {
  readonly texts: number;
  /** How many of the commands are run; `hostile-texts.spec.ts` runs all of them. */
  readonly calls: number;
}

const ORGANIZATION = TENANTS[16]!;
const AT = '2026-03-01T00:00:00Z';

/** Characters that control a terminal or change the text direction. */
const ESCAPES = [
  '\u001b[2J\u001b[H',
  '\u001b]0;owned\u0007',
  '\u001b]8;;http://evil.example\u0007click\u001b]8;;\u0007',
  '\u001b[1A\u001b[2K',
  '\u009b2J',
  '\u0090q\u009c',
  '\u0008\u0008\u0008',
  '\u007f',
  '\u0085',
  '\u202egnp.exe',
  '\u2066x\u2069',
  '\u200f',
  '\u061c',
  '\u2028',
];
const DANGEROUS = /(?![\t\n])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** The operator commands that print stored texts. */
const CALLS = [
  ['keys', 'list'],
  ['brands', 'list'],
  ['flags', 'list'],
  ['parked', 'list', '--json'],
  ['parked', 'list'],
  ['projections', 'status'],
  ['sources', 'status'],
  ['keys', 'list', '--json'],
  ['brands', 'list', '--json'],
] as const;

const dangerous = (output: string): number => (output.match(DANGEROUS) ?? []).length;

/** Stores hostile texts in every field that is printed later. */
const plant = async (target: RunningService, texts: readonly string[]): Promise<void> => {
  const brands = texts.map((text, n) =>
    cloudEvent(
      sent(
        'BrandRegistered',
        { organization: ORGANIZATION, brand: `b-${n}`, name: `x${text}x`, updatedAt: AT },
        `s24-${n}`,
      ),
    ),
  );
  await sendAll(target, target.upstreamKey, brands);
  // A direct append to the log bypasses the validation, so that events with any text are parked.
  for (const text of texts)
    await target.log.append(`report-${ORGANIZATION}:${randomUUID()}`, 'any', [
      {
        id: randomUUID(),
        type: 'ReportFiled',
        data: { organization: text, reportId: text, [`field${text}`]: text },
        metadata: { source: `urn:${text}`, id: text, time: AT },
      },
    ]);
};

const attack = async (
  context: RunContext,
  target: RunningService,
  { texts: textCount, calls }: Scale,
): Promise<Outcome> => {
  const texts = Array.from(
    { length: textCount },
    (_, n) => ESCAPES[n % ESCAPES.length]! + (n < ESCAPES.length ? '' : n),
  );
  await plant(target, texts);
  await eventually('the unreadable events are parked', async () => {
    const { body } = await sendRequest(`${target.url}/health/ready`);
    return body.parts?.readModels?.state === 'degraded' || body.parts?.readModels?.detail === undefined;
  });
  const findings: string[] = [];
  let printedCharacters = 0;
  const run = async (words: readonly string[], mustShow = false): Promise<void> => {
    const { output } = await call(context, target.env, words);
    printedCharacters += output.length;
    if (dangerous(output) > 0)
      findings.push(`${words.slice(0, 2).join(' ')} shows ${dangerous(output)} unescaped control characters`);
    if (mustShow && !/x[^x\n]*x/.test(output))
      findings.push(`${words.slice(0, 2).join(' ')} does not print the stored names`);
  };
  const { code: issueExitCode } = await call(context, target.env, [
    'keys',
    'issue',
    '--organization',
    ORGANIZATION,
    '--scope',
    'read',
    '--name',
    `x${texts[0]}x`,
  ]);
  if (issueExitCode !== 0 && issueExitCode !== 1 && issueExitCode !== 2)
    findings.push(`keys issue ended with ${issueExitCode}`);
  for (const words of CALLS.slice(0, calls)) await run(words, words[0] === 'brands' && words.length === 2);
  const file = join(await context.folder(), 'hostile.jsonl');
  const lines = texts.map((text, n) =>
    JSON.stringify({
      specversion: '1.0',
      id: `r${text}${n}`,
      source: 'urn:x',
      type: `T${text}`,
      time: AT,
      data: { [text]: text },
    }),
  );
  await writeFile(file, [...lines, texts.join('')].join('\n'));
  const { output } = await call(context, { ...target.env, THREAT_PROTECTION_API_KEY: target.upstreamKey }, [
    'events',
    'send',
    file,
    '--url',
    target.url,
  ]);
  if (dangerous(output) > 0) findings.push(`events send shows ${dangerous(output)} unescaped control characters`);
  const logged = dangerous(target.output());
  if (logged > 0) findings.push(`The services' logs hold ${logged} unescaped control characters`);
  return {
    workload: `${textCount} texts with ${ESCAPES.length} kinds of escape in names, ids, sources and fields; ${calls + 2} calls`,
    observed: `no unescaped control character in ${printedCharacters + output.length} printed characters`,
    findings,
  };
};

export const terminalEscapes: Scenario<Scale> = {
  name: 'S24',
  what: 'stored texts with terminal escape sequences',
  asvs: { '1.1.2': 'Encoding and Sanitization Architecture', '16.4.1': 'Log Protection' },
  full: { texts: 200, calls: CALLS.length },
  run: async (context, scale) => attack(context, await startAttackTarget(context), scale),
  guard: 'stored texts are escaped when they are printed',
  // The output of a command that does not escape.
  withoutGuard: async () => ({
    workload: 'the texts',
    observed: '-',
    findings:
      dangerous(ESCAPES.join('\n')) > 0 ? [`${dangerous(ESCAPES.join('\n'))} unescaped control characters`] : [],
  }),
};
