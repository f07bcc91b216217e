import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseSettings, readSettings } from '../../src/cli/settings-file.js';
import { ConfigError } from '../../src/runtime/config.js';

const messageOf = (work: () => unknown): string => {
  try {
    return `no error: ${JSON.stringify(work())}`;
  } catch (error) {
    return error instanceof ConfigError ? error.message : String(error);
  }
};

describe('parseSettings', () => {
  it.each([
    ['A=1\nB=2\n', { A: '1', B: '2' }],
    ['A=1', { A: '1' }],
    ['', {}],
    ['\uFEFFA=1\r\n\r\n  B = 2 \t\r\n', { A: '1', B: '2' }],
    ['# comment\n; comment of systemd\n  # B=2\nA=1', { A: '1' }],
    ['A=postgres://u:p%23@h:5432/d?sslmode=require&a=b', { A: 'postgres://u:p%23@h:5432/d?sslmode=require&a=b' }],
    ['A=a#b;c', { A: 'a#b;c' }],
    ['A=a b  c', { A: 'a b  c' }],
    ['A=', { A: '' }],
    ['A=""\nB=\'\'', { A: '', B: '' }],
    ['A=1\nA=2', { A: '2' }],
    ['export A=1\nexport  B="2"', { A: '1', B: '2' }],
    ['A="a # b"\nB=\'a # b; $c ${d} \\n\'', { A: 'a # b', B: 'a # b; $c ${d} \\n' }],
    ['A="a\\"b\\\\c\\$d\\`e"', { A: 'a"b\\c$d`e' }],
    ['A="\\\\"\nB=1', { A: '\\', B: '1' }],
    ['A=" a "\nB=\' a \'  ', { A: ' a ', B: ' a ' }],
    ['A=it\'s "so"', { A: 'it\'s "so"' }],
    ['A=a\\\nb\\\n  c\nB=1', { A: 'ab  c', B: '1' }],
    ['A="a\\\nb"\nB=1', { A: 'ab', B: '1' }],
    ['A="a\nb"\nB=\'c\n#d\'', { A: 'a\nb', B: 'c\n#d' }],
    ['A=`a`\nB=$1 costs 5$', { A: '`a`', B: '$1 costs 5$' }],
  ])('reads %j as systemd, Docker Compose and Kubernetes do', (text, settings) => {
    expect(parseSettings(text, 'file')).toEqual(settings);
  });

  it.each([
    ['A=1\nB=a # b', 'line 2: B: systemd reads "#" as part of the value and Docker Compose as a comment'],
    ['A=#a', 'line 1: A: systemd reads "#" as part'],
    ['A=a\\nb', 'line 1: A: systemd removes "\\" and Docker Compose keeps it; put the value into single quotes'],
    ['A=a\\', 'line 1: A: systemd removes "\\"'],
    ['A=$B', 'line 1: A: systemd keeps "$" and Docker Compose replaces it by a variable; put'],
    ['A=a${B}', 'line 1: A: systemd keeps "$"'],
    ['A=a$$b', 'line 1: A: systemd keeps "$"'],
    ['A="a$B"', 'line 1: A: systemd keeps "$"'],
    ['A="a\\\\$B"', 'line 1: A: systemd keeps "$"'],
    ['A="a\\nb"', 'line 1: A: systemd keeps this "\\" and Docker Compose does not; put the value into single quotes'],
    ["A='a\\' b'", 'line 1: A: there is text after the closing quote'],
    ["A='a\\'", 'line 1: A: Docker Compose does not end the value at "\\\'"'],
    ['\nA="a"b', 'line 2: A: there is text after the closing quote'],
    ['A="a" # b', 'line 1: A: there is text after the closing quote'],
    ['A=1\n\nB="a\nC=2', 'line 3: B: the value has no closing quote'],
    ["A='a", 'line 1: A: the value has no closing quote'],
    ['A="a\nb"\nB', 'line 3: this is not an assignment; write NAME=value'],
    ['A: 1', 'line 1: this is not an assignment'],
    ['1A=1', 'line 1: a name consists of'],
    ['A-B=1', 'line 1: a name consists of'],
    ['=1', 'line 1: a name consists of'],
    ['# a \\\nA=1', 'line 1: some versions of systemd continue a comment after "\\"'],
    ['A=a\0b', 'line 1: A: the value contains a control character'],
    ['A=a\rB=1', 'line 1: A: the value contains a control character'],
  ])('refuses %j, which they read differently or not at all', (text, message) => {
    expect(messageOf(() => parseSettings(text, 'file'))).toContain(`file, ${message}`);
  });

  it('never repeats a value in a message', () => {
    for (const text of ['A="secret', 'A=secret # b', 'A="secret"x', 'A=secret$B', 'A=secret\\n', "A='secret\\'"])
      expect(messageOf(() => parseSettings(text, 'file'))).not.toMatch(/secret|no error/);
  });

  it('reads a file of the largest size in time proportional to its size', () => {
    const startedAt = performance.now();
    for (const unit of ['A="\n', 'A=\\\n', ' ', '"\\', 'A=" \\"\n', '= ', '\n'])
      messageOf(() => parseSettings(unit.repeat(262_144 / unit.length), 'file'));
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });
});

describe('readSettings', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'threat-protection-settings-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('reads a folder with one file per setting, as Kubernetes mounts a Secret', () => {
    const secret = join(folder, 'secret');
    const data = join(secret, '..2026_11_27');
    mkdirSync(data, { recursive: true });
    symlinkSync('..2026_11_27', join(secret, '..data'));
    for (const [name, value] of [
      ['DATABASE_URL', 'postgres://u:p$ # "x"@h/d\n'],
      ['webhook-master-key', 'secret'],
    ] as const) {
      writeFileSync(join(data, name), value);
      symlinkSync(`..data/${name}`, join(secret, name));
    }
    expect(readSettings(secret)).toEqual({ DATABASE_URL: 'postgres://u:p$ # "x"@h/d' });
  });

  it.each([
    ['none', undefined, /^--settings .*none cannot be read: ENOENT/],
    ['large', Buffer.alloc(262_145, 'a'), /large is larger than 262144 bytes$/],
    ['latin1', Buffer.from([0x41, 0x3d, 0xe9]), /latin1 is not UTF-8$/],
  ])('refuses the file %s with a message that says why', (name, bytes, message) => {
    const path = join(folder, name);
    if (bytes) writeFileSync(path, bytes);
    expect(messageOf(() => readSettings(path))).toMatch(message);
  });
});
