import { expect, it } from '@jest/globals';
import { webhooks } from '../../projections/webhooks.js';
import { startApp } from '../support/app.js';
import { operatorCall } from '../support/operator-call.js';
import { projectToHead } from '../support/projecting.js';

it('webhooks list hides secrets and the queries of URLs, and webhooks disable and enable change the state of a webhook', async () => {
  const app = await startApp();
  const { config, log, pool } = app;
  const env = { DATABASE_URL: config.databaseUrl, EVENTSTORE_URL: config.eventStoreUrl };
  const call = (...words: string[]) => operatorCall(env, 'webhooks', ...words);
  const list = async (...words: string[]): Promise<unknown> => {
    await projectToHead(log, pool, [webhooks]);
    return JSON.parse((await call('list', '--json', ...words)).out) as unknown;
  };
  try {
    const at = '2026-03-01T00:00:00.000Z';
    for (const [organization, webhookId] of [
      ['acme', 'wh_1'],
      ['other', 'wh_2'],
    ] as const) {
      const data = {
        organization,
        webhookId,
        url: 'https://acme.example/hooks?token=canary',
        batch: 1,
        state: 'ACTIVE',
      };
      const secret = { generation: 2, masterKey: 'new', previousGeneration: 1, previousMasterKey: 'old' };
      const rest = { previousUntil: '2999-01-01T00:00:00.000Z', startAfter: -1, startLog: 'log', replay: 0 };
      const stored = { ...data, ...secret, ...rest, createdAt: at, updatedAt: at };
      const event = { id: crypto.randomUUID(), type: 'WebhookCreated', data: stored, metadata: {} };
      await log.append(`webhooks-${organization}`, 'any', [event]);
    }
    const acme = {
      organization: 'acme',
      id: 'wh_1',
      url: 'https://acme.example/hooks',
      state: 'ACTIVE',
      disabledReason: null,
      lastSuccessAt: null,
      nextAttemptAt: null,
      masterKeys: ['new', 'old'],
    };
    expect(await list()).toEqual([acme, { ...acme, organization: 'other', id: 'wh_2' }]);
    expect(await list('--organization', 'acme')).toEqual([acme]);
    await pool.query(
      `insert into service.webhook_progress values ('wh_1', '{"replay":0,"logId":"log","position":0,"failingSince":1}')`,
    );
    expect(await list('--organization', 'acme')).toEqual([{ ...acme, state: 'FAILING' }]);

    const selector = ['--organization', 'acme', '--id', 'wh_1'];
    expect(await call('disable', ...selector)).toMatchObject({ code: 0, out: 'wh_1 of acme is disabled\n' });
    expect(await call('disable', ...selector)).toMatchObject({ code: 0 });
    expect(await list('--organization', 'acme')).toEqual([{ ...acme, state: 'DISABLED', disabledReason: 'requested' }]);
    expect(await call('enable', ...selector)).toMatchObject({ code: 0, out: 'wh_1 of acme is enabled\n' });
    expect(await call('disable', '--organization', 'other', '--id', 'wh_1')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^Working on .*\nWebhook not found\n$/),
    });
    const types = (await log.readStream('webhooks-acme', 0n, 10)).map(({ type, metadata }) => [type, metadata]);
    const operator = { operator: expect.any(String) };
    expect(types).toEqual([
      ['WebhookCreated', {}],
      ['WebhookDisabled', operator],
      ['WebhookEnabled', operator],
    ]);
    expect((await call('list')).out).not.toContain('canary');
  } finally {
    await app.close();
  }
});
