import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { startApp, type TestApp } from '../../support/app.js';
import { eventually } from '../../support/eventually.js';

const SENTENCE = "No list could be read; verdicts come only from this service's own statuses.";

describe('Lists that were never read', () => {
  let folder: string;
  let app: TestApp | undefined;
  const warnings: string[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lists-never-read-'));
    jest.spyOn(Logger.prototype, 'warn').mockImplementation((line) => void warnings.push(String(line)));
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    warnings.length = 0;
    await app?.close();
    app = undefined;
    await rm(folder, { recursive: true });
  });

  const startWith = async (...lists: object[]): Promise<TestApp> => {
    const sources = [{ id: 'own', kind: 'own' }, ...lists];
    await writeFile(join(folder, 'sources.json'), JSON.stringify({ sources }));
    await writeFile(join(folder, 'list.txt'), 'evil.example\n');
    app = await startApp({ env: { DATA_DIR: folder, SOURCES_FILE: join(folder, 'sources.json') } });
    return app;
  };
  /** No server listens on this port. */
  const unreachable = { id: 'far', kind: 'list', format: 'plain', url: 'http://127.0.0.1:9/list.txt' };
  const readable = (): object => ({ id: 'near', kind: 'list', format: 'plain', file: join(folder, 'list.txt') });

  const lists = async (service: TestApp): Promise<unknown> => (await service.call('/health/ready')).body.parts['lists'];

  it('degrade readiness, and a warning names the remaining sources', async () => {
    const service = await startWith(unreachable);
    expect(await lists(service)).toMatchObject({ state: 'degraded' });
    expect((await service.call('/metrics')).body).toContain(
      'threat_protection_asset_check_list_entries{source="far"} 0',
    );
    await eventually('the warning is logged', () => warnings.includes(SENTENCE));
  });

  it('degrade readiness without a warning if another list was read', async () => {
    const service = await startWith(unreachable, readable());
    await eventually('the unreachable list has failed', () => warnings.some((line) => line.startsWith('List far')));
    expect(await lists(service)).toMatchObject({ state: 'degraded', detail: { near: { entries: 1 } } });
    expect(warnings).not.toContain(SENTENCE);
  });

  it('cause no warning of Node about listeners, although there are more than ten', async () => {
    const warned: Error[] = [];
    const collect = (warning: Error): number => warned.push(warning);
    process.on('warning', collect);
    try {
      await startWith(...Array.from({ length: 12 }, (_, number) => ({ ...readable(), id: `list-${number}` })));
      await app!.close();
      app = undefined;
    } finally {
      process.off('warning', collect);
    }
    expect(warned.filter(({ name }) => name === 'MaxListenersExceededWarning')).toEqual([]);
  });

  it('do not occur, and readiness is ok, if every list was read or no list is configured', async () => {
    expect(await lists(await startWith(readable()))).toMatchObject({ state: 'ok' });
    await app!.close();
    expect(await lists(await startWith())).toMatchObject({ state: 'ok' });
    expect(warnings).toEqual([]);
  });
});
