import { describe, expect, it } from '@jest/globals';
import { Child } from '../../src/cli/start.js';
import { ConfigError, EXIT_CONFIG } from '../../src/runtime/config.js';
import { eventually } from '../support/eventually.js';

const READY = 'process.send({ url: String(process.pid) });';
const FOREVER = 'setInterval(() => {}, 1_000);';

/** Creates a supervised child process that runs one line of code. */
const supervise = (line: string, environment: () => NodeJS.ProcessEnv = () => process.env) => {
  const logged: string[] = [];
  const failures: Error[] = [];
  const child = new Child(
    'API',
    ['-e', line],
    environment,
    (words) => logged.push(words),
    (error) => failures.push(error),
  );
  return { child, logged, failures };
};

describe('A child process', () => {
  it('is restarted one second after it was killed, every time', async () => {
    const starts: number[] = [];
    const { child, logged } = supervise(
      `${READY} if (process.env.STARTS < 3) process.kill(process.pid, 'SIGKILL'); ${FOREVER}`,
      () => ({ ...process.env, STARTS: String(starts.push(performance.now())) }),
    );
    await child.start();
    await eventually('the child has been started three times', () => starts.length === 3);
    // A timer may fire a millisecond early.
    for (const [index, start] of starts.slice(1).entries()) expect(start - starts[index]!).toBeGreaterThan(999);
    expect(logged).toEqual(Array(2).fill('The API ended (SIGKILL) and restarts in 1000 ms'));
    child.kill();
  });

  it('is restarted if it ends before it is ready', async () => {
    let starts = 0;
    const { child, failures } = supervise(`if (process.env.STARTS < 2) process.exit(1); ${READY} ${FOREVER}`, () => ({
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
  ])('is not restarted if it ends with the exit code of a configuration error %s', async (_, before) => {
    const { child, logged, failures } = supervise(`${before} process.exitCode = ${EXIT_CONFIG}; process.disconnect()`);
    void child.start();
    await eventually('the child has failed', () => failures.length > 0);
    expect(failures).toEqual([new ConfigError('The API does not start with these settings. See its output above.')]);
    expect(logged).toEqual([]);
  });

  it('is killed if it does not stop in time, and the kill is logged', async () => {
    const { child, logged } = supervise(`process.on('SIGTERM', () => {}); ${READY} ${FOREVER}`);
    await child.start();
    await child.stop(200);
    expect(logged).toEqual(['The API did not stop within 200 ms and was killed']);
  });
});
