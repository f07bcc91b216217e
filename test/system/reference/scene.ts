import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { issueApiKey } from '../../../src/api-keys/api-keys.js';
import { KeyRing } from '../../../src/api-keys/key-ring.js';
import { seenPathOf } from '../../../src/asset-check/lists/list-copy.js';
import type { Scope } from '../../../src/events/types/organizations.js';
import { RejectionLog } from '../../../src/ingestion/outcomes/rejection-log.js';
import { UsageLog } from '../../../src/ingestion/outcomes/usage-log.js';
import { startApp, type TestApp } from '../../support/app.js';
import { eventually } from '../../support/eventually.js';
import { type Program, startProgram } from '../../support/program.js';
import { startProjecting } from '../../support/projecting.js';

const DAY_MS = 86_400_000;

/** A service on which every declared example can be sent. */
export interface Scene {
  readonly app: TestApp;
  /** Issues a key of the organization acme, or one without an organization for the scope `ingest`. */
  key(scopes: readonly Scope[]): Promise<string>;
  /** Resolves when everything that has been sent is counted, and its rejections and usage are stored. */
  caughtUp(): Promise<void>;
  /** Starts the delivery process. Until then, no webhook delivers. */
  startDelivering(): void;
  close(): Promise<void>;
}

const SOURCES = {
  sources: [
    { id: 'metamask', kind: 'list', format: 'plain', file: 'metamask.txt' },
    { id: 'own', kind: 'own' },
  ],
};

/** Takes the place of the delivery process: every test of a webhook succeeds. */
const answerTests = ({ pool }: TestApp): NodeJS.Timeout => {
  const result = JSON.stringify({ webhookId: 'msg-3', status: 204, took: 41 });
  return setInterval(() => {
    pool.query('update service.webhook_tests set answered_at = 0, result = $1', [result]).catch(() => {});
  }, 20).unref();
};

export const setScene = async (): Promise<Scene> => {
  const folder = mkdtempSync(join(tmpdir(), 'threat-protection-scene-'));
  writeFileSync(join(folder, 'metamask.txt'), 'polkadot-dot.info\n');
  writeFileSync(join(folder, 'sources.json'), JSON.stringify(SOURCES));
  writeFileSync(join(folder, 'webhook-master-key'), `${Buffer.alloc(32, 1).toString('base64')}\n`);
  const data = join(folder, 'data');
  const env = {
    DATA_DIR: data,
    SOURCES_FILE: join(folder, 'sources.json'),
    RATE_LIMIT_PER_MINUTE: '6000',
    WEBHOOK_MASTER_KEY_FILE: join(folder, 'webhook-master-key'),
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1',
  };
  const app = await startApp({ env });
  await eventually('the first reading of the list is stored', () => existsSync(seenPathOf(data, 'metamask')));
  const projecting = startProjecting(app.log, app.pool);
  const answering = answerTests(app);
  let delivering: Program | undefined;
  return {
    app,
    key: async (scopes) => {
      const ofOrganization = { organization: 'acme', name: 'dashboard', expiresAt: Date.now() + DAY_MS };
      const { key } = await issueApiKey(app.log, { scopes, ...(!scopes.includes('ingest') && ofOrganization) });
      await app.app.get(KeyRing).refresh();
      return key;
    },
    caughtUp: async () => {
      await projecting.reached();
      for (const kept of [RejectionLog, UsageLog])
        await app.app.get<RejectionLog | UsageLog>(kept).beforeApplicationShutdown();
    },
    startDelivering: () => {
      const { databaseUrl: DATABASE_URL } = app.config;
      delivering = startProgram('src/deliver.js', [], { env: { ...env, DATABASE_URL } });
    },
    close: async () => {
      clearInterval(answering);
      await delivering?.stop();
      await projecting.stop();
      await app.close();
      rmSync(folder, { recursive: true });
    },
  };
};
