import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Scope } from '../../../src/events/types/api-keys.js';
import type { Recorded } from '../../../src/http/reference/examples.js';
import { readReference } from '../../support/contract.js';
import { type Case, OPERATIONS } from './cases.js';
import { type Address, type Answer, readAddresses, send, shownRequest } from './recorder.js';
import { refusalsOf } from './refusals.js';
import { type Scene, setScene } from './scene.js';

/** What the reference shows. `npm run record` writes it from the running service; here the two are compared. */
const FOLDER = join(import.meta.dirname, '../../../src/http/reference/examples');
/** Answers what any request may prefer, so that one example is enough. */
const SHOWN_ONCE = ['Preference-Applied'];
const IS_RECORDING = process.env['RECORD_EXAMPLES'] === '1';

const reference = readReference();
const addresses = new Map(readAddresses().map((address) => [address.id, address]));
/** By operation and status. */
const recordings = new Map<string, Map<string, Recorded[]>>();

const record = (
  id: string,
  status: number,
  summary: string,
  request: Recorded['request'] | undefined,
  answer: Answer,
) => {
  expect([id, summary, answer.status]).toEqual([id, summary, status]);
  const { status: _, ...shown } = answer;
  const recording = recordings.get(id) ?? new Map<string, Recorded[]>();
  recordings.set(id, recording);
  recording.set(String(status), [
    ...(recording.get(String(status)) ?? []),
    { summary, ...(request && { request }), ...shown },
  ]);
};

const has = (id: string, status: string): boolean => recordings.get(id)?.has(status) ?? false;

let scene: Scene;
beforeAll(async () => {
  scene = await setScene();
});
afterAll(() => scene?.close());

const keyOf = async (scope: Scope, { organization, limited }: Case): Promise<string> =>
  limited ? scene.limited.issueKey({ organization, scopes: [scope] }) : scene.key([scope], organization);

const askCase = async (address: Address, scope: Scope, key: string | undefined, each: Case): Promise<void> => {
  const asked = each.organization === undefined ? key : await keyOf(scope, each);
  const { url } = each.away ? scene.away : each.limited ? scene.limited : scene.app;
  const answer = await send(url, address, asked, each);
  record(address.id, each.status, each.summary, shownRequest(address.path, each), answer);
};

describe('The examples of the reference', () => {
  it('are asked for of every operation', () => {
    expect(OPERATIONS.map(({ id }) => id).sort()).toEqual([...addresses.keys()].sort());
  });

  it('are what the running service answers, each with the status that is declared', async () => {
    // One for each scope, so that the key that sends is the one that asks what became of it.
    const keys = new Map<Scope, string>();
    for (const operation of OPERATIONS) {
      const address = addresses.get(operation.id)!;
      const isKeyed = address.path.startsWith('/v2/');
      const scope = operation.scope ?? 'read';
      if (!keys.has(scope)) keys.set(scope, await scene.key([scope]));
      const key = isKeyed ? keys.get(scope) : undefined;
      for (const each of operation.cases) {
        await askCase(address, scope, key, each);
        // What was written is counted in the answers that follow.
        if (operation.scope !== 'read') await scene.caughtUp();
      }
      const declared = Object.keys(address.operation.responses);
      for (const { status, summary, ask } of refusalsOf(scene, address, operation, key))
        if (declared.includes(String(status)) && !has(operation.id, String(status)))
          record(operation.id, status, summary, undefined, await ask());
    }
    await scene.endPools();
    const metrics = addresses.get('getMetrics')!;
    const answer = await send(scene.app.url, metrics, await scene.key(['read']), { query: 'startDate=2026-03-01' });
    record('getMetrics', 503, 'The database is unavailable', undefined, answer);
  });

  it('show every status that an operation declares', () => {
    const unseen = [...addresses.values()].flatMap(({ id, operation }) =>
      Object.keys(operation.responses)
        .filter((status) => !has(id, status))
        .map((status) => `${id} ${status}`),
    );
    expect(unseen).toEqual([]);
  });

  it('show every header that an answer declares', () => {
    const seen = (responses: readonly (readonly Recorded[] | undefined)[]): string[] =>
      responses.flatMap((each = []) => each.flatMap(({ headers }) => Object.keys(headers)));
    const all = seen([...recordings.values()].flatMap((each) => [...each.values()]));
    const missing = SHOWN_ONCE.filter((name) => !all.includes(name));
    for (const [id, { operation }] of addresses)
      for (const [status, { $ref, headers = {} }] of Object.entries(operation.responses)) {
        if ($ref !== undefined) continue;
        const shown = seen([recordings.get(id)?.get(status)]);
        for (const name of Object.keys(headers))
          if (!shown.includes(name) && !SHOWN_ONCE.includes(name)) missing.push(`${id} ${status} ${name}`);
      }
    for (const [shared, { headers = {} }] of Object.entries(reference.components.responses)) {
      const status = [...addresses.values()]
        .flatMap(({ operation }) => Object.entries(operation.responses))
        .find(([, { $ref }]) => $ref?.endsWith(`/${shared}`))![0];
      const shown = seen([...recordings.values()].map((each) => each.get(status)));
      for (const name of Object.keys(headers)) if (!shown.includes(name)) missing.push(`${shared} ${name}`);
    }
    expect(missing).toEqual([]);
  });

  it(IS_RECORDING ? 'are written' : 'are the ones that were recorded: `npm run record` writes them again', () => {
    const now = new Map([...recordings].map(([id, byStatus]) => [`${id}.json`, Object.fromEntries(byStatus)]));
    if (IS_RECORDING) {
      for (const file of readdirSync(FOLDER)) rmSync(join(FOLDER, file));
      for (const [file, recording] of now) writeFileSync(join(FOLDER, file), `${JSON.stringify(recording, null, 2)}\n`);
    }
    expect(readdirSync(FOLDER).sort()).toEqual([...now.keys()].sort());
    for (const [file, recording] of now) {
      expect(existsSync(join(FOLDER, file))).toBe(true);
      expect([file, JSON.parse(readFileSync(join(FOLDER, file), 'utf8'))]).toEqual([file, recording]);
    }
  });
});
