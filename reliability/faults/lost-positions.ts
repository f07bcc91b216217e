import { setTimeout as sleep } from 'node:timers/promises';
import { issueApiKey } from '../../src/api-keys/issue-api-key.js';
import { revokeApiKey } from '../../src/api-keys/revoke-api-key.js';
import { eventually } from '../../test/support/eventually.js';
import { findPrograms, POSTGRES_PROGRAMS } from '../../test/support/postgres-programs.js';
import { cloudEvent, sentReport, sentStatus } from '../../test/support/upstream.js';
import { answering, Receiver } from '../../test/webhooks/delivery/receiver.js';
import type { Outcome, Scenario } from '../scenario.js';
import { ask } from '../rig/ask.js';
import { checkVerify, counted, sentOf, wholeLog } from '../rig/check.js';
import { FeedCopy } from '../rig/feed-copy.js';
import { needs } from '../rig/needs.js';
import { open } from '../rig/opened.js';
import { died } from '../rig/outage.js';
import { preloadOf, Process } from '../rig/processes.js';
import type { Scene } from '../rig/scene.js';
import { Standbys } from '../rig/standbys.js';
import { webhookSettings } from '../rig/webhook.js';

interface Dose {
  readonly rounds: number;
}

const ORGANIZATION = 'acme';
/** Reports before the loss, lost, and after it: more than were lost, so that all their positions are taken. */
const REPORTS = { before: 20, lost: 10, after: 40 };
/** How soon every process must agree with the log after the promotion. */
const TIMEOUT_MS = 30_000;

const loseAndReplace = async (scene: Scene, { rounds }: Dose, preload?: string): Promise<Outcome> => {
  const standbys = await Standbys.start(scene, findPrograms()!, { isSynchronous: false });
  const env = { DATABASE_URL: standbys.url, ...(await webhookSettings(await scene.folder())) };
  const { service, log, keys } = await open(scene, env, { preload });
  const deliveries = Process.start(scene, 'src/deliver', env);
  const processes = [...service.processes, deliveries];
  const { url } = service;
  const key = keys.read[ORGANIZATION]!;
  const findings: string[] = [];
  const receivers: Receiver[] = [];
  const receive = async (): Promise<Receiver> => {
    const receiver = new Receiver();
    receivers.push(receiver);
    scene.later(() => receiver.stop());
    return receiver;
  };
  /** @returns the endpoint's id */
  const makeWebhook = async (receiver: Receiver): Promise<string> => {
    const json = { url: `${await receiver.start()}/hooks` };
    return (await ask(`${url}/v2/organization/webhooks`, { key, json })).body.id as string;
  };
  const send = (events: readonly object[]): Promise<void> =>
    eventually('the events are acknowledged', async () => {
      const asked = ask(`${url}/v2/events`, { key: keys.ingest, events: [...events] });
      return (await asked.catch(() => ({ status: 0 }))).status === 200;
    });
  const reportsOf = (name: string, count: number): object[] =>
    Array.from({ length: count }, (_, n) => {
      const at = new Date().toISOString();
      const id = `${name}-${n}`;
      return cloudEvent(sentReport(id, { organization: ORGANIZATION, createdAt: at, updatedAt: at }, id));
    });
  const statusOf = (content: string, status: string): object => {
    const createdAt = new Date().toISOString();
    const id = `${content}-${status}`;
    return cloudEvent(sentStatus(id, { asset: { type: 'URL', content }, status, createdAt }, id));
  };
  const verdict = async (content: string): Promise<string> => {
    const asked = ask(`${url}/v2/asset/check`, { key, json: { content } });
    return (await asked.catch(() => ({ body: {} as { status?: string } }))).body.status ?? 'no answer';
  };
  const reads = async (presented: string): Promise<number> =>
    (await ask(`${url}/v2/organization`, { key: presented }).catch(() => ({ status: 0 }))).status;
  const groups = async (): Promise<string[]> => {
    const { body } = await ask(`${url}/v2/organization/asset-groups`, { key });
    return (body.groups ?? body).map(({ name }: { name: string }) => name);
  };
  const makeGroup = (name: string): Promise<void> =>
    eventually('the group is made', async () => {
      const asked = ask(`${url}/v2/organization/asset-groups`, { key, json: { name } });
      const { status } = await asked.catch(() => ({ status: 0 }));
      return status === 201 || status === 409;
    });
  const webhooks = async (): Promise<string[]> => {
    const { body } = await ask(`${url}/v2/organization/webhooks`, { key });
    return (body.webhooks ?? []).map(({ id }: { id: string }) => id);
  };

  const kept = await receive();
  kept.react = answering(204);
  const keptId = await makeWebhook(kept);
  const copy = FeedCopy.start(scene, url, key);
  let lostEvents = 0;
  const took: number[] = [];
  const named = new Set<string>();
  for (let round = 1; round <= rounds && findings.length === 0; round += 1) {
    scene.tell(`round ${round} of ${rounds}`);
    const name = `r${round}`;
    const [issue, other] = [{ scopes: ['read'] as const, organization: ORGANIZATION }, `${name}-stays.example`];
    const old = await issueApiKey(log, issue);
    await send([...reportsOf(`${name}-before`, REPORTS.before), statusOf(other, 'BLOCKED')]);
    await counted(url);
    await eventually('the key works', async () => (await reads(old.key)) === 200);
    await eventually('the standbys have all', async () => {
      const rows = await standbys.ask<{ n: number }>(
        standbys.primary,
        'select count(*)::int as n from pg_stat_replication where replay_lsn >= pg_current_wal_lsn()',
      );
      return (rows[0]?.n ?? 0) >= 1;
    });

    await standbys.cutOff();
    await sleep(300);
    const headBefore = await log.head();
    const lostKey = await issueApiKey(log, issue);
    await revokeApiKey(log, old.id);
    await makeGroup(`${name}-lost`);
    const lostReceiver = await receive();
    const lostHook = await makeWebhook(lostReceiver);
    await send([
      statusOf(`${name}-lost.example`, 'BLOCKED'),
      statusOf(other, 'UNKNOWN'),
      ...reportsOf(`${name}-lost`, REPORTS.lost),
    ]);
    // Every process knows them by now.
    await eventually('the lost verdict is known', async () => (await verdict(`${name}-lost.example`)) === 'BLOCKED');
    await eventually('the lost key works', async () => (await reads(lostKey.key)) === 200);
    await eventually('the revoked key is refused', async () => (await reads(old.key)) === 401);
    const last = `${name}-lost-${REPORTS.lost - 1}`;
    await eventually('the webhook got them', () => kept.subjects.includes(last));
    await eventually('the feed has them', () => copy.has(last));
    const gone = (await wholeLog(log)).filter(({ position }) => position > headBefore);

    await standbys.kill(standbys.primary);
    const linesBefore = processes.map(({ lines }) => lines.length);
    const lostServer = await standbys.promote();
    const promotedAt = Date.now();
    await send([statusOf(`${name}-other.example`, 'BLOCKED'), ...reportsOf(`${name}-after`, REPORTS.after)]);
    let otherKey: Awaited<ReturnType<typeof issueApiKey>> | undefined;
    await eventually('another key is issued', async () => {
      otherKey ??= await issueApiKey(log, issue).catch(() => undefined);
      return otherKey !== undefined;
    });
    await makeGroup(`${name}-other`);
    const now = await wholeLog(log);
    const ids = new Set(now.map(({ id }) => id));
    const lost = gone.filter(({ id }) => !ids.has(id));
    lostEvents += lost.length;
    if (lost.length !== gone.length || (await log.head()) < gone.at(-1)!.position)
      findings.push(`${lost.length} of ${gone.length} events were lost, so the round tried something else`);

    /** The last state of what is asked again and again. @returns what does not agree */
    const disagreements = async (): Promise<string[]> => {
      const due = sentOf(now).flatMap(({ type, data }) =>
        type === 'ReportFiled' && data['organization'] === ORGANIZATION ? [data['reportId'] as string] : [],
      );
      const groupsDue = now.filter(({ type }) => type === 'AssetGroupCreated');
      const hooksDue = [keptId];
      const delivered = new Set(kept.subjects);
      const answers: [string, unknown, unknown][] = [
        ['the verdict that was lost', await verdict(`${name}-lost.example`), 'UNKNOWN'],
        ['the verdict whose end was lost', await verdict(other), 'BLOCKED'],
        ['the verdict that came instead', await verdict(`${name}-other.example`), 'BLOCKED'],
        ['the key that was lost', await reads(lostKey.key), 401],
        ['the key whose revocation was lost', await reads(old.key), 200],
        ['the key that came instead', await reads(otherKey!.key), 200],
        ['the number of groups', (await groups()).length, groupsDue.length],
        ['the group that was lost', (await groups()).includes(`${name}-lost`), false],
        ['the webhooks', (await webhooks()).join(), hooksDue.join()],
        ['reports not delivered', due.filter((id) => !delivered.has(id)).join(), ''],
        ['reports not in the copy of the feed', due.filter((id) => !copy.has(id)).join(), ''],
        ['reports in the copy of the feed alone', copy.subjects.filter((id) => !due.includes(id)).join(), ''],
      ];
      return answers.flatMap(([what, is, shall]) =>
        is === shall ? [] : [`${what}: ${String(is).slice(0, 80)} where ${String(shall)} is right`],
      );
    };
    let wrong = await disagreements().catch(() => ['no answer']);
    while (wrong.length > 0 && Date.now() - promotedAt < TIMEOUT_MS) {
      await sleep(100);
      wrong = await disagreements().catch((error: Error) => [error.message]);
    }
    took.push(Date.now() - promotedAt);
    findings.push(...wrong.map((finding) => `Round ${round}, ${TIMEOUT_MS} ms after the promotion: ${finding}`));
    findings.push(...died(processes));
    const had = lostReceiver.received.length;
    await sleep(500);
    if (lostReceiver.received.length > had)
      findings.push(`Round ${round}: the lost webhook ${lostHook} still gets records`);
    for (const [n, { program, lines }] of processes.entries())
      if (
        lines
          .slice(linesBefore[n])
          .some((line) => lost.some(({ id, position }) => line.includes(id) || line.includes(` ${position}`)))
      )
        named.add(program);
    if (named.size === 0) findings.push(`Round ${round}: no process names the events that were lost`);
    if (round < rounds) {
      await standbys.copy(lostServer);
      const stale = standbys.servers.find((server) => server !== standbys.primary && server !== lostServer)!;
      // It may have received more than the one that was promoted.
      await standbys.kill(stale);
      await standbys.copy(stale);
    }
  }
  await copy.stop();
  if (findings.length === 0) {
    await counted(url);
    findings.push(...(await checkVerify(scene, { DATABASE_URL: standbys.url })));
  }
  return {
    dose: `${rounds} × ${REPORTS.lost} reports, 2 statuses, 2 key events, a group and a webhook lost; ${lostEvents} events`,
    seen:
      `own verdicts, keys, groups, webhooks and feed as in the log ${Math.max(0, ...took)} ms after the promotion at ` +
      `the latest, no process started again, recount 0; the lost events named by ${[...named].join(', ') || 'none'}`,
    findings,
  };
};

export const lostPositions: Scenario<Dose> = {
  name: 'F31',
  what: 'an asynchronous failover loses the last positions of the log, and other events take them',
  full: { rounds: 10 },
  unfit: needs(findPrograms() !== undefined, POSTGRES_PROGRAMS),
  run: (scene, dose) => loseAndReplace(scene, dose),
  guard: 'each process looks whether the last event that it knows is still in the log',
  counterTest: { rounds: 1 },
  without: (scene, dose) => loseAndReplace(scene, dose, preloadOf('keeps-keys')),
};
