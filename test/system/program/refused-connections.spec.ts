import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FAILED } from '../../../src/cli/output.js';
import { EXIT_CONFIG } from '../../../src/runtime/config.js';
import { Deployment, PROGRAMS } from '../../support/deployment.js';
import { busyFactor, eventually, eventuallyPasses } from '../../support/eventually.js';
import { EventStoreDouble } from '../../support/eventstore-double/server.js';
import { IS_FULL_SIZE } from '../../support/full-size.js';
import { type Program, startProgram } from '../../support/program.js';
import { RefusingDatabase } from '../../support/refusing-database.js';

const TIMEOUT_MS = 240_000;
/** How long after the repair of a cause everything may take to work again. */
const MAX_RECOVERY_MS = 10_000;
/**
 * Causes of each kind: PostgreSQL has no such database, or the certificate is wrong for as long as nobody changes a
 * setting, or for now. Every cause starts some ten processes; `unusable-database.spec.ts` has the messages of all, and
 * a run of full size has all of them here.
 */
const AT_START = ['a missing database', 'an untrusted certificate', 'an expired certificate'];
/** A cause of PostgreSQL and one of TLS. */
const AT_RUN_TIME = ['another password', 'an expired certificate'];

describe('A database that refuses connections', () => {
  const folder = mkdtempSync(join(tmpdir(), 'refused-connections-'));
  const database = new RefusingDatabase(folder);
  const namesIn = (ordinary: readonly string[]): string[] =>
    Object.keys(database.causes).filter((name) => IS_FULL_SIZE || ordinary.includes(name));
  let env: NodeJS.ProcessEnv;

  const startAll = (settings: NodeJS.ProcessEnv): Program[] =>
    PROGRAMS.map((program) => startProgram(program, [], { env: { ...settings, PORT: '0' } }));
  const operatorCall = (settings: NodeJS.ProcessEnv, ...words: string[]): Program =>
    startProgram('src/cli.js', words, { env: settings });
  /** The lines of a call without the one that names the database. */
  const linesOf = (call: Program): string[] =>
    call
      .output()
      .trimEnd()
      .split('\n')
      .filter((line) => !line.startsWith('Working on '));

  /**
   * Starts a rebuild that has filled its tables and waits for a reader of the live ones.
   * @returns the call, and a function that ends the reader
   */
  const startRebuild = async (settings: NodeJS.ProcessEnv) => {
    const endReading = await database.readLong(settings['DATABASE_URL']!, 'read.takedowns');
    const call = operatorCall(settings, 'projections', 'rebuild', 'takedowns');
    await eventually('the rebuild waits for the reader', () => {
      if (call.isOver()) throw new Error(call.output());
      return database.isWaiting();
    });
    return { call, endReading };
  };

  beforeAll(async () => {
    const masterKey = join(folder, 'master-key');
    writeFileSync(masterKey, `${Buffer.alloc(32, 7).toString('base64')}\n`);
    env = {
      DATABASE_URL: await database.create(),
      DATA_DIR: join(folder, 'data'),
      WEBHOOK_MASTER_KEY_FILE: masterKey,
    };
  }, TIMEOUT_MS);
  afterAll(async () => {
    await database.drop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
  }, TIMEOUT_MS);

  describe('at the start', () => {
    const names = namesIn(AT_START);

    it.each(names.filter((name) => database.causes[name]!.mayEnd !== true))(
      'ends each process and a call of the operator with 78 and one line that says what to do: %s',
      async (name) => {
        const { begin, end, message } = database.causes[name]!;
        await begin();
        try {
          const ended = [...startAll(env), operatorCall(env, 'keys', 'list')];
          const codes = await Promise.all(ended.map((program) => program.ended()));
          expect(codes).toEqual(ended.map(() => EXIT_CONFIG));
          for (const program of ended) expect(linesOf(program)).toEqual([expect.stringContaining(message)]);
        } finally {
          await end();
        }
      },
      TIMEOUT_MS,
    );

    it.each(names.filter((name) => database.causes[name]!.mayEnd === true))(
      'is waited for by each process if it may end by itself, and asks the operator to repeat the call: %s',
      async (name) => {
        const { begin, end, message } = database.causes[name]!;
        const deployment = new Deployment(env);
        await begin();
        try {
          await deployment.begin();
          const call = operatorCall(env, 'keys', 'list');
          expect(await call.ended()).toBe(FAILED);
          expect(linesOf(call)).toEqual([expect.stringMatching(`is unavailable: .*${message}.*Repeat the call`)]);
          await eventuallyPasses(() => expect(Math.min(...deployment.linesWith(message))).toBeGreaterThan(0));
          expect(deployment.isRunning()).toEqual([true, true, true]);
          await end();
          await deployment.isReady(MAX_RECOVERY_MS * busyFactor());
        } finally {
          await end();
          await deployment.stop();
        }
      },
      TIMEOUT_MS,
    );
  });

  describe('at run time', () => {
    const names = namesIn(AT_RUN_TIME);
    let deployment: Deployment;
    beforeAll(async () => {
      deployment = new Deployment(env);
      await deployment.start();
    }, TIMEOUT_MS);
    afterAll(() => deployment.end());

    it.each(names)(
      'is waited for by all processes, responded to with 503, and everything works within 10 s of the repair: %s',
      async (name) => {
        const { begin, end, message } = database.causes[name]!;
        const rebuild = await startRebuild(env);
        await begin();
        try {
          const refused = { status: 503, headers: expect.objectContaining({}), body: { code: 'SERVICE_UNAVAILABLE' } };
          await eventuallyPasses(async () => expect(await deployment.read()).toMatchObject(refused));
          for (const response of [await deployment.read(), await deployment.post('refused')]) {
            expect(response).toMatchObject(refused);
            expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
          }
          await eventuallyPasses(async () => expect(await deployment.ready()).toEqual([503, 503, 503]));
          // A scrape may share the answer of the one before it.
          for (const process of ['projector', 'deliveries'] as const)
            await eventuallyPasses(async () =>
              expect(await deployment.metricsOf(process)).toContain('threat_protection_read_models_up 0'),
            );
          // Two causes have the same line, which a process repeats only after a minute.
          await eventuallyPasses(() => expect(Math.min(...deployment.linesWith(message))).toBeGreaterThan(0));
          expect(deployment.isRunning()).toEqual([true, true, true]);
          expect(await rebuild.call.ended()).toBe(FAILED);
          expect(linesOf(rebuild.call).at(-1)).toMatch(/[Rr]epeat the call/);
          expect(rebuild.call.output()).not.toMatch(/\n +at /);
        } finally {
          await rebuild.endReading();
          await end();
        }
        await deployment.works(MAX_RECOVERY_MS * busyFactor());
        expect(deployment.isRunning()).toEqual([true, true, true]);
        if (IS_FULL_SIZE || name === names.at(-1)) {
          const repeated = operatorCall(env, 'projections', 'rebuild', 'takedowns');
          expect([await repeated.ended(), repeated.out()]).toEqual([0, 'takedowns rebuilt\n']);
        }
      },
      TIMEOUT_MS,
    );
  });

  describe('an EventStoreDB that refuses the user', () => {
    const user = { name: 'service', password: 'good' };
    let store: EventStoreDouble;
    let withStore: NodeJS.ProcessEnv;
    let deployment: Deployment | undefined;

    beforeAll(async () => {
      store = await EventStoreDouble.start(undefined, 0, user);
      withStore = { ...env, EVENTSTORE_URL: store.url, DATABASE_URL: await database.createAnother() };
    }, TIMEOUT_MS);
    afterAll(async () => {
      await deployment?.end();
      await store.stop();
    }, TIMEOUT_MS);

    it(
      'ends each process and a call of the operator at the start with 78',
      async () => {
        user.password = 'other';
        const ended = [...startAll(withStore), operatorCall(withStore, 'keys', 'list')];
        const codes = await Promise.all(ended.map((program) => program.ended()));
        expect(codes).toEqual(ended.map(() => EXIT_CONFIG));
        for (const program of ended) expect(program.output()).toContain('refuses this user and password');
        user.password = 'good';
      },
      TIMEOUT_MS,
    );

    it(
      'is waited for at run time also by a call of the operator, and everything works within 10 s of the repair',
      async () => {
        deployment = new Deployment(withStore);
        await deployment.start();
        const rebuild = await startRebuild(withStore);
        user.password = 'other';
        // Open calls stay authenticated.
        store.dropConnections();
        await eventuallyPasses(async () => expect(await deployment!.post('refused')).toMatchObject({ status: 503 }));
        expect(Number((await deployment.post('refused')).headers.get('retry-after'))).toBeGreaterThan(0);
        await eventuallyPasses(async () => expect(await deployment!.ready()).toEqual([503, 503, 503]));
        expect(await deployment.read()).toMatchObject({ status: 200 });
        expect(deployment.isRunning()).toEqual([true, true, true]);
        await eventuallyPasses(() => expect(rebuild.call.err()).toContain('The log is unavailable'));
        await rebuild.endReading();
        user.password = 'good';
        await deployment.works(MAX_RECOVERY_MS * busyFactor());
        expect([await rebuild.call.ended(), rebuild.call.out()]).toEqual([0, 'takedowns rebuilt\n']);
      },
      TIMEOUT_MS,
    );
  });
});
