import { describe, expect, it } from '@jest/globals';
import { startProgram } from '../../support/program.js';

const TIMEOUT_MS = 180_000;

const withWrongPassword = (): string => {
  const url = new URL(process.env['TEST_DATABASE_URL']!);
  url.password = 'bad';
  return url.href;
};

describe('A database that cannot be used', () => {
  it.each(['json', 'pretty'])(
    'makes each program exit with 78 and one line with LOG_FORMAT=%s',
    async (LOG_FORMAT) => {
      const env = { DATABASE_URL: withWrongPassword(), PORT: '0', LOG_FORMAT };
      for (const program of ['src/main.js', 'projections/main.js'] as const) {
        const ended = startProgram(program, [], { env });
        expect(await ended.ended()).toBe(78);
        const lines = ended.output().trimEnd().split('\n');
        expect(lines).toEqual([expect.stringContaining('correct the user and password in DATABASE_URL')]);
        if (LOG_FORMAT === 'json')
          expect(JSON.parse(lines[0]!)).toEqual({
            time: expect.stringMatching(/^\d{4}-.*Z$/),
            level: 'error',
            context: program === 'src/main.js' ? 'main' : 'projector',
            message: expect.any(String),
          });
      }
    },
    TIMEOUT_MS,
  );

  it(
    'makes each program exit with 78 and a line that names DATABASE_URL without its value if the URL cannot be parsed',
    async () => {
      const env = { DATABASE_URL: 'postgres://u:secret#w@127.0.0.1:5432/d', PORT: '0' };
      const programs = [
        ['src/main.js'],
        ['projections/main.js'],
        ['src/cli.js', 'start'],
        ['src/cli.js', 'keys', 'list'],
      ] as const;
      for (const [program, ...words] of programs) {
        const ended = startProgram(program, words, { env });
        expect(await ended.ended()).toBe(78);
        const lines = ended.output().trimEnd().split('\n');
        expect(lines).toEqual([expect.stringMatching(/DATABASE_URL contains \\?"#\\?"/)]);
        expect(lines[0]).not.toContain('secret');
      }
    },
    TIMEOUT_MS,
  );

  it(
    'makes a command of the operator exit with 78',
    async () => {
      const ended = startProgram('src/cli.js', ['keys', 'list'], { env: { DATABASE_URL: withWrongPassword() } });
      expect(await ended.ended()).toBe(78);
      expect(ended.output()).toContain('correct the user and password in DATABASE_URL');
    },
    TIMEOUT_MS,
  );

  it(
    'makes npm start exit with 78, and is reported by only one of its processes',
    async () => {
      const env = { DATABASE_URL: withWrongPassword(), PORT: '0' };
      const ended = startProgram('src/cli.js', ['start'], { env });
      expect(await ended.ended()).toBe(78);
      const lines = ended.output().trimEnd().split('\n');
      expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
        expect.objectContaining({ level: 'error', context: 'projector' }),
        expect.objectContaining({
          level: 'error',
          context: 'start',
          message: 'The projector does not start with these settings. See its output above.',
        }),
      ]);
    },
    TIMEOUT_MS,
  );
});
