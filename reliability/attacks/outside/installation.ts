import { execFile } from 'node:child_process';
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { isWellFormed } from '../../../src/api-keys/key-ring.js';
import type { Outcome, Scenario } from '../../scenario.js';
import { sendRequest } from '../../rig/http-request.js';
import type { RunContext } from '../../rig/run-context.js';
import { eventually } from '../../../test/support/eventually.js';

interface Scale {
  /** Whether to install the service without dependency scripts, and start it. */
  readonly installs: boolean;
}

const run = promisify(execFile);
const CHECKS = ['install-scripts', 'licences', 'vulnerabilities'] as const;
/** Folders and files that are generated or third-party. */
const SKIPPED = new Set(['node_modules', 'dist', '.git', '.data', 'coverage', 'package-lock.json']);
/** The self-signed test certificate, whose key is not a secret. */
const KNOWN = new Set(['test/support/eventstore-double/certificate.ts']);
const SECRETS: Readonly<Record<string, RegExp>> = {
  'a private key': /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----\s+[A-Za-z0-9+/]{40}/,
  'a key of a cloud': /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/,
  'a token of a code host': /\bgh[pousr]_[A-Za-z0-9]{36}\b|\bglpat-[A-Za-z0-9_-]{20}\b/,
  'a token of a registry': /\bnpm_[A-Za-z0-9]{36}\b/,
  'a token of a chat': /\bxox[abprs]-[A-Za-z0-9-]{20,}/,
  'a key of a payment service': /\b[rs]k_live_[A-Za-z0-9]{20,}/,
};

const secretsIn = (text: string): string[] => [
  ...Object.entries(SECRETS).flatMap(([what, pattern]) => (pattern.test(text) ? [what] : [])),
  ...(text.match(/\btp_[0-9A-Za-z]{36}\b/g) ?? []).filter(isWellFormed).map(() => 'a key of this service'),
];

const scan = async (folder: string): Promise<{ files: number; findings: string[] }> => {
  let files = 0;
  const findings: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (SKIPPED.has(entry.name)) continue;
    if (entry.isDirectory()) {
      const below = await scan(path);
      files += below.files;
      findings.push(...below.findings);
    } else if (entry.isFile() && !KNOWN.has(relative(process.cwd(), path))) {
      files += 1;
      for (const what of secretsIn(await readFile(path, 'utf8'))) findings.push(`${path} holds ${what}`);
    }
  }
  return { files, findings };
};

/** Runs a check of `.ci/`. @returns its findings about the lock file */
const check = async (name: string, lock: string): Promise<string[]> => {
  try {
    await run(process.execPath, [join(process.cwd(), '.ci', `${name}.mjs`), lock]);
    return [];
  } catch (error) {
    return [`${name}: ${(error as { stdout: string }).stdout.trim()}`];
  }
};

/** Installs the production dependencies without their scripts into an empty folder, and starts the service there. */
const install = async (context: RunContext): Promise<string[]> => {
  const folder = await context.folder();
  for (const file of ['package.json', 'package-lock.json']) await cp(join(process.cwd(), file), join(folder, file));
  const words = ['ci', '--ignore-scripts', '--omit=dev', '--no-audit', '--no-fund', '--prefer-offline'];
  try {
    await run('npm', words, { cwd: folder, timeout: 300_000 });
  } catch (error) {
    return [`npm ${words.join(' ')} failed: ${(error as { stderr: string }).stderr.slice(-500)}`];
  }
  await cp(join(process.cwd(), 'dist'), join(folder, 'dist'), { recursive: true });
  const database = await context.database();
  const { PATH, HOME, SOURCES_FILE } = process.env;
  const child = execFile(process.execPath, ['dist/src/main.js'], {
    cwd: folder,
    env: { PATH, HOME, SOURCES_FILE, LOG_FORMAT: 'json', PORT: '0', DATABASE_URL: database.url },
  });
  context.onEnd(async () => child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (text: string) => (output += text));
  const url = (): string | undefined => /Listening on (http:[^"\s]+)/.exec(output)?.[1];
  const live = async (): Promise<boolean> =>
    url() !== undefined && (await sendRequest(`${url()}/health/live`).catch(() => ({ status: 0 }))).status === 200;
  return eventually('it answers', live, 30_000).then(
    () => [],
    () => [`The service does not start: ${output.slice(-500)}`],
  );
};

const attack = async (context: RunContext, { installs }: Scale): Promise<Outcome> => {
  const { files, findings } = await scan(process.cwd());
  for (const name of CHECKS) findings.push(...(await check(name, join(process.cwd(), 'package-lock.json'))));
  if (installs) findings.push(...(await install(context)));
  return {
    workload: `${files} files searched, ${CHECKS.length} checks of the lock file${installs ? ', npm ci --ignore-scripts' : ''}`,
    observed: `no secrets, no findings about scripts, licences or vulnerabilities${installs ? ', the service starts' : ''}`,
    findings,
  };
};

const plantedLock = {
  name: 'planted',
  lockfileVersion: 3,
  packages: {
    '': { name: 'planted' },
    'node_modules/phones-home': { version: '1.0.0', hasInstallScript: true, license: 'MIT' },
    'node_modules/viral': { version: '1.0.0', license: 'AGPL-3.0-only' },
    'node_modules/nobodys': { version: '1.0.0' },
  },
};

/** A report of `npm audit` with one vulnerability. */
const plantedAudit = {
  vulnerabilities: {
    holed: {
      name: 'holed',
      severity: 'low',
      range: '<2',
      via: [{ title: 'a hole', url: 'https://advisories.example/1' }],
    },
  },
};

const judgeAudit = async (report: object): Promise<string[]> => {
  const check = pathToFileURL(join(process.cwd(), '.ci', 'vulnerabilities.mjs')).href;
  const program = `import { judge } from '${check}'; console.log(JSON.stringify(judge(process.argv[1]).findings));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program, JSON.stringify(report)]);
  return JSON.parse(stdout) as string[];
};

export const installation: Scenario<Scale> = {
  name: 'S15',
  what: 'dependencies with install scripts, forbidden licences or known vulnerabilities, and secrets in the repository',
  asvs: {
    '15.1.2': 'Secure Coding and Architecture Documentation',
    '15.2.4': 'Security Architecture and Dependencies',
    '13.3.1': 'Secret Management',
  },
  full: { installs: true },
  run: (context, scale) => attack(context, scale),
  guard: 'allowlists of install scripts and licences, and a search for secrets',
  withoutGuard: async (context) => {
    const folder = await context.folder();
    const lock = join(folder, 'package-lock.json');
    await writeFile(lock, JSON.stringify(plantedLock));
    const token = `ghp_${'a1B2'.repeat(9)}`;
    await writeFile(join(folder, 'notes.txt'), `token: ${token}`);
    const found = [
      await check('install-scripts', lock),
      await check('licences', lock),
      await judgeAudit(plantedAudit),
      (await scan(folder)).findings,
    ];
    // Each check must find its planted fault.
    return {
      workload: 'planted',
      observed: '-',
      findings: found.every(({ length }) => length > 0) ? found.flat() : [],
    };
  },
};
