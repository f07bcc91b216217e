import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from '@jest/globals';
import { operatorCall } from '../support/operator-call.js';
import { cloudEvent, sentThreat } from '../support/upstream.js';

const threat = (id: string, data: object = {}): object => cloudEvent(sentThreat(id, data, id));

const folder = mkdtempSync(join(tmpdir(), 'threat-protection-validate-'));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (name: string, lines: readonly unknown[]): string => {
  const path = join(folder, name);
  const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n');
  writeFileSync(path, name.endsWith('.gz') ? gzipSync(text) : text);
  return path;
};
/** No settings: it needs neither a server nor a database. */
const validate = (...words: string[]) => operatorCall({}, 'validate', ...words);

describe('validate', () => {
  it('ends with 0 where every line is an event that the endpoint takes, and says what looks wrong', async () => {
    const path = file('good.jsonl.gz', [threat('t-1'), '', threat('t-2', { createdAt: '2026-03-02T00:00:00Z' })]);
    expect(await validate(path)).toMatchObject({
      code: 0,
      out: `valid 2\nrejected 0\nwarnings 1\n${path}:3 t-2: data.updatedAt is before data.createdAt\n`,
    });
  });

  it('ends with 1 where a line would be rejected, and names each with its number and reasons', async () => {
    const path = file('bad.jsonl', [threat('t-1'), '{', '7', '[]', threat('t-2', { status: 7 }), { id: 'x' }]);
    const { code, out } = await validate(path, '--json');
    const result = JSON.parse(out) as { rejectedLines: { place: string; id?: string; issues: string[] }[] };
    expect([code, result]).toMatchObject([1, { valid: 1, rejected: 5, warnings: 0 }]);
    expect(result.rejectedLines.map(({ place, issues }) => `${place.split(':').at(-1)} ${issues[0]}`)).toEqual([
      '2 the line is not JSON in UTF-8',
      '3 the line must be one event, a JSON object',
      '4 the line must be one event, a JSON object',
      expect.stringMatching(/^5 data\.status must be /),
      '6 specversion must be "1.0"',
    ]);
  });

  it('checks by the rules of an organization’s own key if asked to', async () => {
    const path = file('own.jsonl', [threat('t-1'), threat('t-2', { organization: 'globex' })]);
    expect((await validate(path)).code).toBe(0);
    const { code, out } = await validate(path, '--organization', 'acme');
    expect([code, out]).toEqual([1, expect.stringContaining(`${path}:2 t-2: data.organization must be`)]);
    expect((await validate(path, '--organization', 'Acme!')).code).toBe(2);
    expect((await validate(join(folder, 'nowhere'))).code).toBe(1);
  });
});
