import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import { answers, ListServer } from '../../support/list-server.js';
import { sharedApp, sharedProjecting } from '../../support/open-for-tests.js';
import { cloudEvent, sentReport } from '../../support/upstream.js';

const PAGE = readFileSync('docs/guides/clients.md', 'utf8');
const SECTION = PAGE.slice(PAGE.indexOf('## Read your own writes'));
const sampleIn = (language: string): string => readFileSync(`docs/examples/read-own-writes.${language}`, 'utf8');
const BASE = 'http://127.0.0.1:3000';

const SAMPLE_PROGRAMS = [
  {
    language: 'sh',
    program: 'sh',
    file: 'read.sh',
    text: /```sh\n(.*?)```/s.exec(SECTION)![1]!,
    needs: ['curl', '--version'],
  },
  {
    language: 'ts',
    program: process.execPath,
    file: 'read.mjs',
    text: ts.transpileModule(sampleIn('ts'), {
      compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
    }).outputText,
    needs: [process.execPath, '--version'],
  },
  {
    language: 'python',
    program: 'python3',
    file: 'read.py',
    text: sampleIn('py'),
    needs: ['python3', '--version'],
  },
] as const;

const app = sharedApp();
sharedProjecting(app);
let key: string;
let folder: string;
beforeAll(async () => {
  key = await app.issueKey({ organization: 'acme', scopes: ['ingest', 'read'] });
  folder = mkdtempSync(join(tmpdir(), 'tokens-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('The samples that read their own writes', () => {
  let reports = 0;

  for (const { language, program, file, text, needs } of SAMPLE_PROGRAMS) {
    const isThere = spawnSync(needs[0], [needs[1]]).status === 0;
    (isThere ? it : it.skip)(`count the event that the ${language} sample has just sent, each time`, async () => {
      expect(text).toContain(BASE);
      writeFileSync(join(folder, file), text.replaceAll(BASE, app.url));
      // The guide prepares both before its first example.
      writeFileSync(join(folder, 'client.header'), `X-API-KEY: ${key}\n`);
      mkdirSync(join(folder, '.data/guide'), { recursive: true });
      for (let n = 0; n < 3; n += 1) {
        reports += 1;
        const now = new Date().toISOString();
        const event = cloudEvent(sentReport(`r-${reports}`, { organization: 'acme', createdAt: now, updatedAt: now }));
        const { stdout } = await promisify(execFile)(program, [file, JSON.stringify(event)], {
          cwd: folder,
          env: { ...process.env, THREAT_PROTECTION_API_KEY: key },
        });
        expect(stdout).toContain('"accepted":1');
        expect(stdout).toContain(`"reports":${reports}`);
      }
    });

    (isThere && language !== 'sh' ? it : it.skip)(
      `wait a second in ${language} if a proxy says with a date when to try again`,
      async () => {
        const service = new ListServer();
        const [refuses, accepts] = [503, 200].map((status) =>
          answers(status, { 'retry-after': 'Tue, 01 Dec 2026 02:00:00 GMT', 'consistency-token': 'a' }, '{}'),
        );
        service.behave = (...exchange) => (service.requests.length > 2 ? accepts! : refuses!)(...exchange);
        writeFileSync(join(folder, file), text.replaceAll(BASE, await service.start()));
        const env = { ...process.env, THREAT_PROTECTION_API_KEY: key };
        const started = performance.now();
        try {
          const { stdout } = await promisify(execFile)(program, [file, '{}'], { cwd: folder, env });
          expect(stdout).toBe('{}\n{}\n');
        } finally {
          await service.stop();
        }
        expect(service.requests).toHaveLength(4);
        expect(performance.now() - started).toBeGreaterThan(1_900);
      },
    );
  }
});
