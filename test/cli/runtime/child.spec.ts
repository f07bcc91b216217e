import { describe, expect, it } from '@jest/globals';
import { Child } from '../../../src/cli/runtime/child.js';
import { ConfigError, EXIT_CONFIG } from '../../../src/runtime/config.js';
import { eventually } from '../../support/eventually.js';

const READY = 'process.send({ url: String(process.pid) });';
const FOREVER = 'setInterval(() => {}, 1_000);';

/** A program that is one line, kept running. */
const keeping = (line: string, environment: () => NodeJS.ProcessEnv = () => process.env) => {
  const said: string[] = [];
  const failures: Error[] = [];
  const child = new Child(
    'API',
    ['-e', line],
    environment,
    (words) => said.push(words),
    (error) => failures.push(error),
  );
  return { child, said, failures };
};

describe('A child process', () => {
  it('is started again one second after it was killed, however often', async () => {
    const starts: number[] = [];
    const { child, said } = keeping(
      `${READY} if (process.env.STARTS < 3) process.kill(process.pid, 'SIGKILL'); ${FOREVER}`,
      () => ({ ...process.env, STARTS: String(starts.push(performance.now())) }),
    );
    await child.start();
    await eventually('it has been started three times', () => starts.length === 3);
    // A timer may fire a millisecond early.
    for (const [index, start] of starts.slice(1).entries()) expect(start - starts[index]!).toBeGreaterThan(999);
    expect(said).toEqual(Array(2).fill('The API ended (SIGKILL) and restarts in 1000 ms'));
    child.kill();
  });

  it('is started again if it ends before it is ready', async () => {
    let starts = 0;
    const { child, failures } = keeping(`if (process.env.STARTS < 2) process.exit(1); ${READY} ${FOREVER}`, () => ({
      ...process.env,
      STARTS: String(++starts),
    }));
    await child.start();
    expect({ starts, failures }).toEqual({ starts: 2, failures: [] });
    child.kill();
  });

  it.each([
    ['before it was ready', ''],
    ['after it was ready', READY],
  ])('is not started again if it ends with the exit code of a configuration error %s', async (_, before) => {
    const { child, said, failures } = keeping(`${before} process.exitCode = ${EXIT_CONFIG}; process.disconnect()`);
    void child.start();
    await eventually('it has failed', () => failures.length > 0);
    expect(failures).toEqual([new ConfigError('The API does not start with these settings. See its output above.')]);
    expect(said).toEqual([]);
  });

  it('is killed if it does not stop in time, and the log says so', async () => {
    const { child, said } = keeping(`process.on('SIGTERM', () => {}); ${READY} ${FOREVER}`);
    await child.start();
    await child.stop(200);
    expect(said).toEqual(['The API did not stop within 200 ms and was killed']);
  });
});
