import { spawnSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { EXIT_CONFIG } from '../../src/runtime/config.js';
import { MIN_DESCRIPTORS } from '../../src/runtime/lifecycle.js';

describe('A process with too few file descriptors', () => {
  it.each(['dist/src/main.js', 'dist/src/cli.js start', 'dist/src/cli.js demo'])(
    'exits with 78 and one message: %s',
    (program) => {
      for (const limit of [MIN_DESCRIPTORS - 1, 256, 64]) {
        const { status, stderr, stdout } = spawnSync(
          'sh',
          ['-c', `ulimit -n ${limit}; exec "$0" ${program}`, process.execPath],
          {
            encoding: 'utf8',
            env: { ...process.env, PORT: '0', DATA_DIR: '/nowhere' },
            timeout: 20_000,
          },
        );
        expect([limit, status, stdout]).toEqual([limit, EXIT_CONFIG, '']);
        expect(stderr).toBe(
          `This process may open ${limit} files and connections (ulimit -n); it needs at least 1024. ` +
            'Raise the hard limit and start the process again\n',
        );
      }
    },
  );
});
