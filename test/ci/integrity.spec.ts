import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';

const check = (lockFile: string): Promise<{ stdout: string }> =>
  promisify(execFile)(process.execPath, ['.ci/integrity.mjs', lockFile]);

it('CI fails if the lock file has no hash of a package, except for development tools that are named as exceptions', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'lock-'));
  try {
    expect((await check('package-lock.json')).stdout).toContain('has a hash');
    const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, object> };
    Object.assign(lock.packages['node_modules/pg']!, { integrity: undefined });
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock));
    await expect(check(join(folder, 'package-lock.json'))).rejects.toMatchObject({
      stdout: expect.stringMatching(/^pg \S+ has no integrity in package-lock\.json\n$/),
    });
    expect(readFileSync('.ci/run', 'utf8')).toMatch(/for check in [a-z -]*\bintegrity\b/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
