import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { sharedApp } from '../../support/open-for-tests.js';
import { describeWith } from '../../support/tools.js';

const PAGE = readFileSync('docs/guides/clients.md', 'utf8');
const SAMPLE = /```python\n(.*?)```/s.exec(PAGE)![1]!;
const BASE = 'http://127.0.0.1:3000';
const hasPython = spawnSync('python3', ['-c', 'import urllib.request']).status === 0;

const app = sharedApp();

const run = async (key: string, sample: string): Promise<string> => {
  const env = { ...process.env, THREAT_PROTECTION_API_KEY: key };
  const { stdout } = await promisify(execFile)('python3', ['-c', sample.replace(BASE, app.url)], { env });
  return stdout;
};

(hasPython ? describe : describeWith(false, 'python3'))('The Python sample of docs/guides/clients.md', () => {
  it('exits with 0 with a key issued as the page describes', async () => {
    expect(SAMPLE).toContain(BASE);
    expect(PAGE).toContain('keys issue --name client --organization acme --scope read --scope write');
    const key = await app.issueKey({ organization: 'acme', scopes: ['read', 'write'] });
    const lines = (await run(key, SAMPLE)).trim().split('\n');
    expect(lines).toHaveLength(2);
    expect(lines[1]).toContain("'newThreats': 0");
  });

  it('sends a batch with a key of the scope ingest and reports it in its last line', async () => {
    const key = await app.issueKey({ scopes: ['ingest'] });
    const last = SAMPLE.trim().split('\n').at(-1)!;
    const send = /^# With a key of the scope ingest: (.*)$/.exec(last)![1]!;
    const functions = SAMPLE.slice(0, SAMPLE.indexOf('\nprint('));
    expect(await run(key, `${functions}\nbatch = []\nprint(${send})`)).toBe(
      "{'accepted': 0, 'duplicates': 0, 'rejected': []}\n",
    );
  });
});
