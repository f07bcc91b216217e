/**
 * Fails if a production dependency has a vulnerability that is known to the registry. If the registry does not support
 * audits, this is reported, but does not fail the run.
 */
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { isProgram, tell } from './lock-file.mjs';

/** @param report what `npm audit --json` printed */
export const judge = (report) => {
  let parsed;
  try {
    parsed = JSON.parse(report);
  } catch {
    parsed = {};
  }
  const { vulnerabilities, message } = parsed;
  if (vulnerabilities === undefined)
    return { known: false, findings: [], why: String(message ?? 'no answer').split('\n')[0] };
  const findings = Object.values(vulnerabilities).map(({ name, severity, range, via }) => {
    const titles = via.map((one) => (typeof one === 'string' ? `by ${one}` : `${one.title} (${one.url})`));
    return `${name} ${range} has a known vulnerability (${severity}): ${titles.join('; ')}`;
  });
  return { known: true, findings };
};

if (isProgram(import.meta.url)) {
  const folder = process.argv[2] === undefined ? join(import.meta.dirname, '..') : dirname(process.argv[2]);
  const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--package-lock-only', '--json'], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 60_000,
    // On Windows npm is a script of the shell.
    shell: process.platform === 'win32',
  });
  const { known, findings, why } = judge(stdout ?? '');
  tell(
    findings,
    known
      ? 'No known vulnerabilities in production dependencies'
      : `NOT AUDITED: no dependency was checked for vulnerabilities; the registry answered "${why}"`,
  );
}
