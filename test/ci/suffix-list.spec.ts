import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const NOW = '2026-11-25T12:00:00Z';
const TIMES = {
  created: '2020-01-01T00:00:00Z',
  modified: '2026-11-24T00:00:00Z',
  '7.5.4': '2026-11-15T12:00:00Z',
  '7.5.5': '2026-11-20T12:00:00Z',
  '8.0.0-beta.1': '2026-11-24T00:00:00Z',
};

const ageOf = (version: string, answer: string): string =>
  execFileSync(
    process.execPath,
    [
      '--input-type=module',
      '--eval',
      `import { describeAge } from './.ci/suffix-list.mjs';
       console.log(describeAge(...JSON.parse(process.env.GIVEN)));`,
      'not the program',
    ],
    { encoding: 'utf8', env: { ...process.env, GIVEN: JSON.stringify([version, answer, Date.parse(NOW)]) } },
  ).trim();

describe('The age of the Public Suffix List that CI reports', () => {
  it.each([
    ['7.5.5', 'published 5 days ago; the newest version'],
    ['7.5.4', 'published 10 days ago; the newest is 7.5.5, 5 days old'],
  ])('is counted from the publication of tldts %s', (version, expected) =>
    expect(ageOf(version, JSON.stringify(TIMES))).toBe(
      `The bundled Public Suffix List is of tldts ${version}, ${expected}`,
    ),
  );

  it.each(['', 'null', '{}', 'no JSON', '{"error":{"code":"E404"}}'])(
    'is reported as unknown if the registry answers %j',
    (answer) => expect(ageOf('7.5.4', answer)).toMatch(/tldts 7\.5\.4; the registry did not say/),
  );

  it('is printed by every CI run and never fails the run', () => {
    expect(readFileSync('.ci/run', 'utf8')).toMatch(/^ *node \.ci\/suffix-list\.mjs(?! *\|\|)/m);
  });
});
