import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ListCopy, type ListState } from '../../../src/asset-check/lists/list-copy.js';

const STATE: ListState = { id: 'phishing', origin: 'https://lists.example', entries: 1, refused: 0, validators: {} };

describe('Instances that share a folder and have the same process id', () => {
  let folder: string;
  beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'list-copy-'))));
  afterEach(() => rm(folder, { recursive: true, force: true }));

  /** Records a body that arrives character by character. */
  const recording = (text: string) => {
    const copy = new ListCopy(folder, 'phishing');
    const pieces = (async function* () {
      for (const piece of text) yield Buffer.from(piece);
    })();
    const body = copy.record({ chunks: pieces, size: undefined } as never);
    return { copy, next: (body.chunks as AsyncIterable<Buffer>)[Symbol.asyncIterator]() };
  };

  it('each save a complete list if their downloads overlap', async () => {
    const [one, other] = [recording('aaaaaaaa'), recording('bbbb')];
    for (let n = 0; n < 3; n += 1) for (const { next } of [one, other]) await next.next();
    while (!(await other.next.next()).done);
    await other.copy.write(STATE, true);
    const file = join(folder, 'lists', 'phishing.list');
    expect(await readFile(file, 'utf8')).toBe('bbbb');
    while (!(await one.next.next()).done);
    expect(await readFile(file, 'utf8')).toBe('bbbb');
    await one.copy.write(STATE, true);
    expect(await readFile(file, 'utf8')).toBe('aaaaaaaa');
    expect((await readdir(join(folder, 'lists'))).sort()).toEqual(['phishing.json', 'phishing.list']);
  });

  it('can save the state of a list concurrently', async () => {
    const copies = Array.from({ length: 20 }, () => new ListCopy(folder, 'phishing'));
    await Promise.all(copies.map((copy, n) => copy.write({ ...STATE, entries: n }, true)));
    expect(await copies[0]!.readState()).toMatchObject({ id: 'phishing' });
    expect(await readdir(join(folder, 'lists'))).toEqual(['phishing.json']);
  });
});
