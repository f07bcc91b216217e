import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import { FeedIds } from '../../../src/records/feed/feed-ids.js';
import { answers, ListServer } from '../../support/list-server.js';
import { delivered, history } from '../../support/histories.js';
import { sharedApp, sharedProjecting } from '../../support/open-for-tests.js';
import { eventually } from '../../support/eventually.js';
import { sized } from '../../support/full-size.js';
import { Random } from '../../support/random.js';
import { KINDS } from '../../support/requests.js';
import { stored } from '../../support/upstream.js';

const sampleIn = (language: string): string => readFileSync(`docs/examples/copy-records.${language}`, 'utf8');
const BASE = 'http://127.0.0.1:3000';
const KILLS = sized(4, 8);
/** The pause before a copy is read. The copy in Python is read by a process for which this one stands still. */
const PAUSE_MS = 250;

/** A copy: each record by its kind and id, and the id of the last element. */
interface Copy {
  readonly records: Readonly<Record<string, unknown>>;
  readonly last?: string;
}

interface Sample {
  readonly name: string;
  readonly file: string;
  readonly text: string;
  readonly program: string;
  /** Returns what the sample has stored in a folder. */
  read(folder: string): Copy;
  /** Replaces the stored id of the last element. */
  misplace(folder: string, id: string): void;
}

const python = (folder: string, script: string): string =>
  spawnSync('python3', ['-c', `import json, sqlite3\ncopy = sqlite3.connect("records.db")\n${script}`], {
    cwd: folder,
    encoding: 'utf8',
  }).stdout;

const IN_TYPESCRIPT: Sample = {
  name: 'TypeScript',
  file: 'copy.mjs',
  text: ts.transpileModule(sampleIn('ts'), {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
  }).outputText,
  program: process.execPath,
  read: (folder) => {
    const file = join(folder, 'records.json');
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Copy) : { records: {} };
  },
  misplace: (folder, id) =>
    writeFileSync(join(folder, 'records.json'), JSON.stringify({ ...IN_TYPESCRIPT.read(folder), last: id })),
};
const IN_PYTHON: Sample = {
  name: 'Python',
  file: 'copy.py',
  text: sampleIn('py'),
  program: 'python3',
  read: (folder) => {
    const script = `print(json.dumps({"records": {key: json.loads(text) for key, text in copy.execute("select * from records")}, "last": (copy.execute("select id from place").fetchone() or [""])[0]}))`;
    const text = python(folder, script);
    return text === '' ? { records: {} } : (JSON.parse(text) as Copy);
  },
  misplace: (folder, id) =>
    void python(folder, `with copy: copy.execute("update place set id = ?", (${JSON.stringify(id)},))`),
};
const hasPython = spawnSync('python3', ['-c', 'import sqlite3']).status === 0;

const app = sharedApp();
const projecting = sharedProjecting(app);
let key: string;

beforeAll(async () => {
  key = await app.issueKey({ organization: 'acme', scopes: ['read', 'write'] });
});

const lists = async (): Promise<Record<string, unknown>> => {
  const all: Record<string, unknown> = {};
  for (const { kind, list } of KINDS) {
    const { body } = await app.call(`${list}?limit=1000`, { key });
    expect(body).toMatchObject({ items: expect.any(Array) });
    expect(body.nextCursor).toBeUndefined();
    for (const item of body.items) all[`threat-protection.${kind} ${item.id}`] = item;
  }
  return all;
};

describe.each(hasPython ? [IN_TYPESCRIPT, IN_PYTHON] : [IN_TYPESCRIPT])(
  'The sample that keeps a copy of the records, in $name',
  (sample) => {
    const folder = mkdtempSync(join(tmpdir(), 'copy-sample-'));
    let running: ChildProcess;
    const start = (): void => {
      writeFileSync(join(folder, sample.file), sample.text.replace(BASE, app.url));
      running = spawn(sample.program, [sample.file], {
        cwd: folder,
        env: { ...process.env, THREAT_PROTECTION_API_KEY: key },
        stdio: ['ignore', 'ignore', 'inherit'],
      });
    };
    const kill = async (): Promise<void> => {
      // A sample that ended by itself sends no further event, for which the spec would wait until its timeout.
      expect([running.exitCode, running.signalCode]).toEqual([null, null]);
      running.kill('SIGKILL');
      await once(running, 'exit');
    };
    const isComplete = async (): Promise<boolean> => {
      const { records } = sample.read(folder);
      const listed = await lists();
      return Object.keys(listed).length > 50 && JSON.stringify(sorted(records)) === JSON.stringify(sorted(listed));
    };
    const eventuallyWithPauses = (what: string, holds: () => boolean | Promise<boolean>): Promise<void> =>
      eventually(what, async () => {
        await pause(PAUSE_MS);
        return holds();
      });
    afterAll(async () => {
      if (running.exitCode === null && running.signalCode === null) await kill();
      rmSync(folder, { recursive: true });
    });

    it('equals the lists in the end, whenever it was killed while events arrived', async () => {
      expect(sample.text).toContain(BASE);
      const random = new Random(sample.name.length);
      const events = delivered(random, history(random, 1_200));
      const batch = Math.ceil(events.length / KILLS / 4);
      let next = 0;
      for (let n = 0; n < KILLS; n += 1) {
        start();
        const dies = pause(random.int(500));
        for (let part = 0; part < 4; part += 1, next += batch) {
          await app.log.appendAll(events.slice(next, next + batch).map(stored));
          await pause(20);
        }
        await dies;
        await kill();
      }
      await projecting.reached();
      start();
      await eventuallyWithPauses('the copy is complete', isComplete);
    });

    it('stops if a retry would not help, and sends the key to no other address', async () => {
      const other = new ListServer();
      const location = await other.start();
      const stopsAfter = async (status: number): Promise<void> => {
        const service = new ListServer();
        service.behave = answers(status, { location });
        const empty = mkdtempSync(join(tmpdir(), 'copy-sample-'));
        writeFileSync(join(empty, sample.file), sample.text.replace(BASE, await service.start()));
        try {
          const stopped = spawn(sample.program, [sample.file], {
            cwd: empty,
            env: { ...process.env, THREAT_PROTECTION_API_KEY: key },
            stdio: 'ignore',
            timeout: 10_000,
          });
          expect([status, ...(await once(stopped, 'exit'))]).toEqual([status, 1, null]);
          expect([status, service.requests.length]).toEqual([status, 1]);
        } finally {
          await service.stop();
          rmSync(empty, { recursive: true });
        }
      };
      try {
        await Promise.all([302, 307, 401, 403].map(stopsAfter));
        expect(other.connections).toBe(0);
      } finally {
        await other.stop();
      }
    });

    it('waits a second if a proxy says with a date when to try again', async () => {
      const service = new ListServer();
      service.behave = answers(503, { 'retry-after': 'Tue, 01 Dec 2026 02:00:00 GMT' });
      const empty = mkdtempSync(join(tmpdir(), 'copy-sample-'));
      writeFileSync(join(empty, sample.file), sample.text.replace(BASE, await service.start()));
      const env = { ...process.env, THREAT_PROTECTION_API_KEY: key };
      const waiting = spawn(sample.program, [sample.file], { cwd: empty, env, stdio: 'ignore' });
      try {
        await eventually('it has asked', () => service.requests.length > 0);
        await pause(1_500);
        expect(service.requests.length).toBeLessThanOrEqual(2);
        await eventually('it asks again', () => service.requests.length > 2);
      } finally {
        waiting.kill('SIGKILL');
        await service.stop();
        rmSync(empty, { recursive: true });
      }
    });

    it('starts over if the log is a different one', async () => {
      await kill();
      const { last } = sample.read(folder);
      expect(last).toMatch(/^[\w-]{8}\./);
      sample.misplace(folder, new FeedIds('another log').write([{ position: 1, event: '00000000' }])[0]!);
      start();
      await eventuallyWithPauses('the copy matches the current log', () => sample.read(folder).last === last);
      expect(await isComplete()).toBe(true);
    });
  },
);

function sorted(records: Readonly<Record<string, unknown>>): unknown {
  return Object.entries(records).sort(([one], [other]) => (one < other ? -1 : 1));
}
