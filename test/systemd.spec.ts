import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { apiFlags } from '../src/cli/start.js';
import { EXIT_CONFIG, readConfig } from '../src/runtime/config.js';
import { MIN_DESCRIPTORS } from '../src/runtime/lifecycle.js';
import { describeWith } from './support/tools.js';

const FOLDER = 'docs/operations/systemd';
const NODE = '/usr/bin/node';
const RETENTION = 'threat-protection-retention.service';
const TIMER = 'threat-protection-retention.timer';
const COMMAND = 'threat-protection';
/** Settings of Node, not of the service. */
const NODE_SETTINGS = new Set(['NODE_ENV']);
const [API, DELIVERIES, PROJECTOR] = ['api', 'deliveries', 'projector'].map(
  (name) => `threat-protection-${name}.service`,
) as [string, string, string];

const read = (unit: string): string => readFileSync(join(FOLDER, unit), 'utf8');
/** Returns the values of a directive, in order. */
const valuesOf = (unit: string, directive: string): string[] =>
  [...read(unit).matchAll(new RegExp(`^${directive}=(.*)$`, 'gm'))].map(([, value]) => value!);

describe('The units for systemd', () => {
  it('start the API, the delivery process and the projector with the same commands as the other deployments', () => {
    expect(readdirSync(FOLDER)).toEqual([COMMAND, API, DELIVERIES, PROJECTOR, RETENTION, TIMER]);
    expect(valuesOf(API, 'ExecStart')).toEqual([`${NODE} ${apiFlags(undefined).join(' ')} dist/src/main.js`]);
    expect(valuesOf(PROJECTOR, 'ExecStart')).toEqual([`${NODE} dist/projections/main.js`]);
    expect(valuesOf(DELIVERIES, 'ExecStart')).toEqual([`${NODE} dist/src/deliver.js`]);
  });

  it.each([API, DELIVERIES, PROJECTOR, RETENTION])(
    'include %s, which contains only existing settings with valid values',
    (unit) => {
      const settings = Object.fromEntries(
        valuesOf(unit, 'Environment')[0]!
          .split(' ')
          .map((each) => each.split('=')),
      );
      expect(Object.keys(settings)).toContain('DATA_DIR');
      const { names } = readConfig(settings);
      for (const name of [...Object.keys(settings), ...read(unit).match(/\b[A-Z]+_[A-Z_]+\b/g)!])
        expect([name, names.has(name) || NODE_SETTINGS.has(name) || name.startsWith('AF_')]).toEqual([name, true]);
    },
  );

  it('come with an operator’s command that has the settings of the units and the state folder of the API', () => {
    const [, program, settings] =
      /^exec (\S+) \/opt\/threat-protection\/(?:dist\/src\/cli\.js) --settings (\S+) "\$@"$/m.exec(read(COMMAND))!;
    expect(program).toBe(NODE);
    expect(valuesOf(API, 'WorkingDirectory')).toEqual(['/opt/threat-protection']);
    expect(valuesOf(API, 'EnvironmentFile')).toEqual([settings]);
    expect(read(COMMAND)).toContain(`DATA_DIR="\${DATA_DIR-/var/lib/${valuesOf(API, 'StateDirectory')[0]}}"`);
    const folder = mkdtempSync(join(tmpdir(), 'command-'));
    try {
      // The program of this clone, and a file of settings without a database.
      const here = read(COMMAND).replace(NODE, process.execPath).replace('/opt/threat-protection', process.cwd());
      writeFileSync(join(folder, 'settings'), 'LOG_FORMAT=json\n');
      const script = join(folder, COMMAND);
      writeFileSync(script, here.replace(settings!, join(folder, 'settings')), { mode: 0o755 });
      const env = { PATH: process.env['PATH'], DATA_DIR: join(folder, 'none') };
      const run = (...words: string[]) => spawnSync(script, words, { encoding: 'utf8', cwd: folder, env });
      expect(run('--version')).toMatchObject({ status: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+/) });
      expect(run('keys', 'list')).toMatchObject({
        status: EXIT_CONFIG,
        stderr: expect.stringContaining('DATABASE_URL'),
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('have a state folder each, and are otherwise equal', () => {
    const [api, deliveries, projector] = [API, DELIVERIES, PROJECTOR].map((unit) =>
      read(unit)
        .split('\n')
        .filter(
          (line) =>
            !/^(?:# The (?:API|projector|delivery process)|Description=|Environment=|ExecStart=|StateDirectory=)/.test(
              line,
            ),
        ),
    );
    expect(projector).toEqual(api);
    expect(deliveries).toEqual(api);
    for (const unit of [API, DELIVERIES, PROJECTOR]) {
      const [state] = valuesOf(unit, 'StateDirectory');
      expect(valuesOf(unit, 'Environment')[0]).toContain(`DATA_DIR=%S/${state}`);
    }
    expect(new Set([API, DELIVERIES, PROJECTOR].flatMap((unit) => valuesOf(unit, 'StateDirectory'))).size).toBe(3);
  });

  it('apply the retention every night, once and without a time limit, as confined as the projector', () => {
    expect(valuesOf(TIMER, 'OnCalendar')).toEqual(['*-*-* 03:17:00']);
    expect(valuesOf(TIMER, 'Persistent')).toEqual(['true']);
    expect(valuesOf(TIMER, 'WantedBy')).toEqual(['timers.target']);
    expect(valuesOf(RETENTION, 'Type')).toEqual(['oneshot']);
    expect(valuesOf(RETENTION, 'TimeoutStartSec')).toEqual(['infinity']);
    expect(valuesOf(RETENTION, 'Restart')).toEqual([]);
    const confinement = (unit: string): string => read(unit).split('UMask=0077')[1]!.split('\n[Install]')[0]!.trim();
    expect(confinement(RETENTION)).toBe(confinement(PROJECTOR));
  });

  it.each([API, DELIVERIES, PROJECTOR])(
    'restart %s unless its settings are invalid, and allow enough time to stop and enough open files',
    (unit) => {
      expect(valuesOf(unit, 'Restart')).toEqual(['always']);
      expect(valuesOf(unit, 'RestartPreventExitStatus')).toEqual([String(EXIT_CONFIG)]);
      expect(valuesOf(unit, 'StartLimitIntervalSec')).toEqual(['0']);
      expect(Number(valuesOf(unit, 'TimeoutStopSec')[0])).toBeGreaterThan(10);
      expect(Number(valuesOf(unit, 'LimitNOFILE')[0])).toBeGreaterThan(MIN_DESCRIPTORS);
    },
  );
});

const isInstalled = spawnSync('systemd-analyze', ['--version']).error === undefined;
describeWith(isInstalled, 'systemd-analyze (apt-get install systemd)')('systemd', () => {
  /** Returns the output of systemd-analyze for a unit, with the Node of this machine. */
  const analyze = (
    unit: string,
    edit: (text: string) => string,
    ...words: string[]
  ): { status: number; output: string } => {
    const folder = mkdtempSync(join(tmpdir(), 'units-'));
    try {
      const file = join(folder, unit);
      writeFileSync(file, edit(read(unit).replace(NODE, process.execPath)));
      const { status, stdout, stderr } = spawnSync('systemd-analyze', [...words, file], { encoding: 'utf8' });
      return { status: status!, output: stdout + stderr };
    } finally {
      rmSync(folder, { recursive: true });
    }
  };
  const unchanged = (text: string): string => text;

  it.each([API, DELIVERIES, PROJECTOR, RETENTION])(
    'verifies %s without a warning, and reports an invalid directive',
    (unit) => {
      const verify = ['verify', '--man=no'];
      expect(analyze(unit, unchanged, ...verify)).toEqual({ status: 0, output: '' });
      expect(analyze(unit, (text) => text.replace('UMask=', 'Umask='), ...verify).output).toMatch(
        /Unknown key.* 'Umask'/,
      );
      expect(analyze(unit, (text) => text.replace('ExecStart=', 'ExecStart=/none'), ...verify).status).not.toBe(0);
    },
  );

  it.each([API, DELIVERIES, PROJECTOR, RETENTION])('gives %s a low exposure score', (unit) => {
    const security = ['security', '--offline=true', '--no-pager', '--threshold=25'];
    expect(analyze(unit, unchanged, ...security).status).toBe(0);
    expect(
      analyze(unit, (text) => text.replace(/^(?:Protect|Private|Restrict).*\n/gm, ''), ...security).status,
    ).not.toBe(0);
  });

  it('verifies the timer without a warning', () => {
    const folder = mkdtempSync(join(tmpdir(), 'units-'));
    try {
      for (const unit of [RETENTION, TIMER])
        writeFileSync(join(folder, unit), read(unit).replace(NODE, process.execPath));
      const words = ['verify', '--man=no', join(folder, TIMER)];
      const { status, stdout, stderr } = spawnSync('systemd-analyze', words, { encoding: 'utf8' });
      expect([status, stdout + stderr]).toEqual([0, '']);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
