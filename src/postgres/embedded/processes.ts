import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const ps = (pid: number, columns: string): string | undefined => {
  try {
    const text = execFileSync('ps', ['-ww', '-o', columns, '-p', String(pid)], {
      encoding: 'utf8',
      env: { PATH: '/bin:/usr/bin', LC_ALL: 'C' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return text.trim() || undefined;
  } catch {
    return undefined; // ps exits with 1 if there is no such process
  }
};

const readProc = (path: string): string | undefined => {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch {
    return undefined;
  }
};

const boot = (): string => readProc('sys/kernel/random/boot_id')?.slice(0, 8) ?? '';

const answersSignals = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};

/**
 * Distinguishes a live process from a later one with the same pid: its start time.
 * @returns undefined if no live process has the pid; a zombie is not live
 */
export const processIdentity = (pid: number): string | undefined => {
  if (process.platform === 'linux') {
    // The name, in brackets, may itself contain blanks and brackets. After it: the state; the 22nd field is the start.
    const fields = readProc(`${pid}/stat`)
      ?.replace(/^.*\)\s/s, '')
      .split(' ');
    return fields === undefined || /[ZX]/.test(fields[0]!) ? undefined : `${boot()}-${fields[19]}`;
  }
  // Windows has no cheap way to ask, and reuses a pid much later.
  if (process.platform === 'win32') return answersSignals(pid) ? 'running' : undefined;
  const line = ps(pid, 'stat=,lstart=');
  return line === undefined || line.startsWith('Z') ? undefined : line.replace(/^\S+\s+/, '');
};

/** A process's command line; undefined if it cannot be read. */
export const commandLine = (pid: number): string | undefined => {
  if (process.platform === 'linux') return readProc(`${pid}/cmdline`)?.replaceAll('\0', ' ');
  return process.platform === 'win32' ? undefined : ps(pid, 'command=');
};
