import { describe, expect, it } from '@jest/globals';
import { Child } from '../../../src/cli/runtime/child.js';
import { EXIT_CONFIG } from '../../../src/runtime/config.js';

/** A program that is one line, kept running. */
const keeping = (line: string) => {
  const said: string[] = [];
  const child = new Child(
    'API',
    ['-e', line],
    () => process.env,
    (words) => said.push(words),
  );
  return { child, said };
};

describe('A program that is kept running', () => {
  it('is given up with a sentence if it ends five times before it works', async () => {
    const { child, said } = keeping('process.exit(1)');
    await expect(child.start()).rejects.toThrow('The API does not start: it ended 5 times (code 1)');
    expect(said).toEqual(Array(4).fill(expect.stringMatching(/^The API ended \(code 1\) and restarts in \d+ ms$/)));
  });

  it('is not started again if a wrong setting ended it', async () => {
    const { child, said } = keeping(`process.exit(${EXIT_CONFIG})`);
    await expect(child.start()).rejects.toThrow('The API does not start with these settings');
    expect(said).toEqual([]);
  });

  it('is ended by force if it does not stop in time, which is said', async () => {
    const { child, said } = keeping('process.on("SIGTERM", () => {}); process.send({}); setInterval(() => {}, 1000)');
    await child.start();
    await child.stop(200);
    expect(said).toEqual(['The API did not stop within 200 ms and was killed']);
  });
});
