import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { answers, type Behaviour, ListServer, sends } from '../../../test/support/list-server.js';
import type { Outcome, Scenario } from '../../scenario.js';
import type { RunContext } from '../../rig/run-context.js';
import { eventually } from '../../../test/support/eventually.js';
import { startAttackTarget, TENANTS } from '../../rig/shared-services.js';
import { verdictsOf } from '../../rig/verdicts.js';

interface Scale {
  /** How often each list is refreshed with hostile content. */
  readonly refreshes: number;
}

interface HostileList {
  readonly what: string;
  readonly format: 'plain' | 'json' | 'metamask';
  readonly behave: Behaviour;
  /** The content that a naive loader would read; undefined if nothing would arrive. */
  readonly text?: string;
}

const MAX_BYTES = 1_000_000;
const TIMEOUT_MS = 800;
const GOOD = Array.from({ length: 30 }, (_, n) => `listed-${n}.example`);
const INNOCENT = [
  'innocent.example',
  'bank.com',
  'shop.co.uk',
  'somebody.github.io',
  'localhost.example',
  'script.example',
];
/** Entries that are invalid or would match everything. */
const BAD_ENTRIES = [
  '*',
  '*.*',
  '.',
  '..',
  '*.com',
  'com',
  'co.uk',
  'github.io.',
  'example',
  '',
  '<script>alert(1)</script>',
  '__proto__',
  'constructor',
  '../../etc/passwd',
  '\u001b]0;owned\u0007',
  'x'.repeat(5_000),
  `${'a.'.repeat(2_000)}example`,
];

const json = (value: unknown): Behaviour => sends(JSON.stringify(value), { 'content-type': 'application/json' });

const text = (format: HostileList['format'], what: string, body: string, type = 'text/plain'): HostileList => ({
  what,
  format,
  behave: sends(body, { 'content-type': type }),
  text: body,
});

const HOSTILE: readonly HostileList[] = [
  text('plain', 'a page with a script', '<!doctype html><script>alert(1)</script>\nbank.com\n', 'text/html'),
  text('plain', 'a page that calls itself text', '<html><script>alert(1)</script>\nbank.com\n'),
  text('plain', 'nothing', ''),
  text('plain', 'a list that has shrunk to a tenth', 'innocent.example\n'),
  text('plain', 'one line of a megabyte', 'x'.repeat(MAX_BYTES - 1)),
  text('plain', 'a list larger than the limit', `${'innocent.example\n'.repeat(70_000)}`),
  text('plain', 'good entries between bad ones', [...GOOD, ...BAD_ENTRIES].join('\n')),
  text('json', 'good items between bad ones', JSON.stringify([...GOOD, ...BAD_ENTRIES, 1, null, {}, [['com']], true])),
  text('json', 'an object where an array is expected', JSON.stringify({ 0: 'bank.com', length: 1 })),
  text('json', 'an array 200,000 deep', '['.repeat(200_000)),
  text('json', 'JSON that breaks off', JSON.stringify(INNOCENT).slice(0, -5)),
  text('json', 'numbers', JSON.stringify(Array.from({ length: 100 }, (_, n) => n))),
  {
    what: 'an allowlist that contains everything',
    format: 'metamask',
    behave: json({ blacklist: GOOD, whitelist: BAD_ENTRIES, fuzzylist: ['*', 'com', 1], tolerance: 3 }),
    text: BAD_ENTRIES.join('\n'),
  },
  {
    what: 'a tolerance that matches everything',
    format: 'metamask',
    behave: json({ blacklist: GOOD, fuzzylist: INNOCENT, tolerance: 500 }),
  },
  { what: 'an error', format: 'plain', behave: answers(500, {}, 'bank.com') },
  {
    what: 'a bomb in gzip',
    format: 'plain',
    behave: sends(gzipSync('innocent.example\n'.repeat(1_000_000)), { 'content-encoding': 'gzip' }),
  },
  {
    what: 'a drip without end',
    format: 'plain',
    behave: (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      const timer = setInterval(() => response.write('innocent.example\n'), 50);
      response.on('close', () => clearInterval(timer));
    },
  },
];

const goodBehaviour = ({ format }: HostileList): Behaviour => {
  if (format === 'plain') return sends(GOOD.join('\n'));
  return json(format === 'json' ? GOOD : { blacklist: GOOD });
};

/** Returns the verdict of each list on each content. */
type Verdicts = (contents: readonly string[]) => Promise<readonly (readonly string[])[]>;

const judge = async (verdicts: Verdicts): Promise<string[]> => {
  const findings: string[] = [];
  const [listed, innocent] = [await verdicts(GOOD), await verdicts(INNOCENT)];
  for (const [n, { what }] of HOSTILE.entries()) {
    if (listed.some((statuses) => statuses[n] !== 'BLOCKED'))
      findings.push(`After ${what} the list has lost its entries`);
    const affected = INNOCENT.filter((_, i) => innocent[i]![n] !== 'UNKNOWN');
    if (affected.length > 0) findings.push(`After ${what} the list returns a verdict for ${affected.join(', ')}`);
  }
  return findings;
};

const attack = async (context: RunContext, { refreshes }: Scale): Promise<Outcome> => {
  const server = new ListServer();
  const url = await server.start();
  context.onEnd(() => server.stop());
  const requestCounts = HOSTILE.map(() => 0);
  server.behave = (request, response) => {
    const n = Number(/(\d+)$/.exec(request.url!)![1]);
    const hostile = HOSTILE[n]!;
    const behave = requestCounts[n] === 0 ? goodBehaviour(hostile) : hostile.behave;
    requestCounts[n]! += 1;
    behave(request, response);
  };
  const file = join(await context.folder(), 'sources.json');
  const sources = HOSTILE.map(({ format }, n) => ({
    id: `list-${n}`,
    kind: 'list',
    format,
    url: `${url}/${n}`,
    refreshSeconds: 1,
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BYTES,
  }));
  await writeFile(file, JSON.stringify({ sources: [{ id: 'own', kind: 'own' }, ...sources] }));
  const target = await startAttackTarget(context, { env: { SOURCES_FILE: file } });
  const verdicts: Verdicts = async (contents) =>
    (await verdictsOf(target, TENANTS[0]!, contents)).map(({ sources: of }) => of.slice(1).map(({ status }) => status));
  // A rejected list is fetched again after 5 s, then after 10 s.
  await eventually(
    'every list was refreshed with hostile content',
    () => requestCounts.every((count) => count > refreshes),
    60_000,
  );
  const findings = await judge(verdicts);
  if (!target.api.isRunning) findings.push(`The API has ended with ${target.api.exitCode}`);
  if (['\u001b', '<script>'].some((sent) => target.output().includes(sent)))
    findings.push('The log contains content of a list');
  return {
    workload: `${HOSTILE.length} valid lists that turn hostile, ${Math.min(...requestCounts) - 1} refreshes each`,
    observed: `the last valid list is kept, or the valid entries of a mixed one; ${INNOCENT.length} other contents never blocked or allowed`,
    findings,
  };
};

/** A naive loader that accepts every line, and matches all subdomains. */
const naiveVerdicts: Verdicts = async (contents) => {
  const lists = HOSTILE.map(({ text: sentText }) => new Set((sentText ?? GOOD.join('\n')).split(/[\s",[\]{}]+/)));
  const isListed = (list: Set<string>, host: string): boolean =>
    list.has('*') || host.split('.').some((_, n, labels) => list.has(labels.slice(n).join('.')));
  return contents.map((host) => lists.map((list) => (isListed(list, host) ? 'BLOCKED' : 'UNKNOWN')));
};

export const hostileLists: Scenario<Scale> = {
  name: 'S14',
  what: 'valid blocklists turn hostile',
  asvs: {
    '1.5.2': 'Safe Deserialization',
    '2.2.1': 'Input Validation',
    '16.5.2': 'Error Handling',
  },
  full: { refreshes: 3 },
  run: (context, scale) => attack(context, scale),
  guard: 'a list is validated entry by entry before it replaces the last valid one',
  withoutGuard: async () => ({ workload: 'once', observed: '-', findings: await judge(naiveVerdicts) }),
};
