import { setTimeout as sleep } from 'node:timers/promises';
import { findPrograms, POSTGRES_PROGRAMS } from '../../test/support/postgres-programs.js';
import type { Random } from '../../test/support/random.js';
import { cloudEvent, EXAMPLES, type Sent, sent } from '../../test/support/upstream.js';
import type { Outcome, Scenario } from '../scenario.js';
import { type Answer, ask, percentile, type Question } from '../rig/ask.js';
import { needs } from '../rig/needs.js';
import { died } from '../rig/outage.js';
import { preloadOf } from '../rig/processes.js';
import { Replicated } from '../rig/replicated.js';
import type { Scene } from '../rig/scene.js';

interface TokensDose {
  /** Each is followed by a read with its token. */
  readonly writes: number;
}

/** What a token may be taken away from, for the counter-test. */
type Without = 'wait' | 'replica-rule';

const CLIENTS = 8;
const FOLLOWERS = 2;
/** Replicas stay in use however far behind they are: only their tokens keep clients from them. Seconds */
const MAX_LAG = 86_400;
/** Seconds that a read may wait, as `Prefer` says it; undefined: nothing, which is 2. */
const WAITS = [undefined, 1, 3] as const;
/** How much later than its deadline a 503 may arrive on a busy machine. ms */
const LATE_MS = 3_000;
const AGAIN_AFTER_MS = 100;
const TIMEOUT_MS = 60_000;
/** Some stops are longer than reads may wait. ms */
const STOPS_MS = [300, 2_500, 800, 4_000] as const;
const CALM_MS = 700;
const FROM = Date.parse('2026-03-01T00:00:00Z');
const PAGE = 1_000;

const KINDS = ['metrics', 'list', 'feed', 'check', 'group'] as const;
type Kind = (typeof KINDS)[number];

/** One read, from its first attempt to its answer. */
interface Done {
  readonly kind: Kind;
  readonly ms: number;
  /** Attempts that were answered 503. */
  readonly refused: number;
}

interface Shared {
  readonly urls: readonly string[];
  readonly ingest: string;
  readonly random: Random;
  readonly findings: string[];
  readonly reads: Done[];
}

/** Sends the newest token that it has seen with each request, to a random process. */
class TokenClient {
  private newest: string | undefined;

  constructor(
    protected readonly shared: Shared,
    protected readonly organization: string,
    private readonly key: string,
  ) {}

  /** @throws Error if the request is not answered with a success in time */
  protected async write(path: string, question: Question): Promise<any> {
    for (const until = Date.now() + TIMEOUT_MS; ; await sleep(AGAIN_AFTER_MS)) {
      const { status, body } = await this.send(path, question);
      if (status === 200 || status === 201) return body;
      if ((status !== 503 && status !== 429) || Date.now() > until)
        throw new Error(`${path} answered ${status}: ${JSON.stringify(body).slice(0, 300)}`);
    }
  }

  /** Repeats a read while it is answered 503 in time. @returns its answer; undefined if it failed, which is noted */
  protected async read(kind: Kind, path: string, question: Question = {}): Promise<any> {
    const { random, findings, reads } = this.shared;
    const began = performance.now();
    for (let refused = 0; ; refused += 1) {
      const wait = random.pick(WAITS);
      const headers = { ...(wait !== undefined && { prefer: `wait=${wait}` }) };
      const { status, body, ms, headers: received } = await this.send(path, { ...question, headers });
      if (status === 200) {
        reads.push({ kind, ms: performance.now() - began, refused });
        return body;
      }
      const about = `${kind} was answered ${status} after ${Math.round(ms)} ms: ${JSON.stringify(body).slice(0, 200)}`;
      if (status !== 503 || received['retry-after'] === undefined) findings.push(about);
      else if (ms > (wait ?? 2) * 1_000 + LATE_MS) findings.push(`${about}, which is after its deadline`);
      else if (performance.now() - began > TIMEOUT_MS) findings.push(`${about}, for the ${refused}th time`);
      else {
        await sleep(AGAIN_AFTER_MS);
        continue;
      }
      return undefined;
    }
  }

  private async send(path: string, { headers, ...question }: Question): Promise<Answer> {
    const { urls, random } = this.shared;
    const token: Question['headers'] = this.newest === undefined ? {} : { 'consistency-token': this.newest };
    const answer = await ask(random.pick(urls) + path, {
      key: this.key,
      ...question,
      headers: { ...headers, ...token },
    });
    const received = answer.headers['consistency-token'];
    const isGood = answer.status === 200 || answer.status === 201;
    if (isGood !== (received !== undefined))
      this.shared.findings.push(`${path} answered ${answer.status} ${isGood ? 'without' : 'with'} a token`);
    if (received !== undefined) this.newest = String(received);
    return answer;
  }
}

/** The only writer of an organization, which reads each of its writes at once. */
class Writer extends TokenClient {
  private threats = 0;
  private ownGroup: string | undefined;
  private lastEventId: string | undefined;

  async writeAndRead(n: number): Promise<void> {
    const kind = this.shared.random.pick(KINDS);
    const id = `${this.organization}-${n}`;
    const missing = (): void => void this.shared.findings.push(`${kind} did not include ${id}, whose token was sent`);
    const isIncluded = await this[kind](id, new Date(FROM + n).toISOString());
    if (isIncluded === false) missing();
  }

  /** Each writes, reads, and says whether the read included the write; undefined if it was not answered. */
  private async metrics(id: string, at: string): Promise<boolean | undefined> {
    await this.report(id, at);
    const body = await this.read('metrics', '/v2/organization/metrics');
    return body && body.metrics.newThreats === this.threats;
  }

  private async list(id: string, at: string): Promise<boolean | undefined> {
    await this.report(id, at);
    const body = await this.read('list', `/v2/organization/threats?startDate=${at}&endDate=${at}`);
    return body && body.items.some((item: { id: string }) => item.id === id);
  }

  private async feed(id: string, at: string): Promise<boolean | undefined> {
    await this.report(id, at);
    for (;;) {
      const from = this.lastEventId === undefined ? '' : `&lastEventId=${encodeURIComponent(this.lastEventId)}`;
      const elements = await this.read('feed', `/v2/organization/feed?types=threat&limit=${PAGE}${from}`);
      if (elements === undefined) return undefined;
      this.lastEventId = elements.at(-1)?.id ?? this.lastEventId;
      if (elements.some(({ subject }: { subject: string }) => subject === id)) return true;
      if (elements.length < PAGE) return false;
    }
  }

  private async check(id: string, at: string): Promise<boolean | undefined> {
    const content = `${id}.example`;
    const asset = { type: 'URL', content };
    const change = { ...EXAMPLES.AssetStatusChanged, changeId: id, asset, status: 'BLOCKED', brandReviews: [] };
    await this.ingest(sent('AssetStatusChanged', { ...change, createdAt: at, updatedAt: at }, id));
    const body = await this.read('check', '/v2/asset/check', { json: { content } });
    return body && body.status === 'BLOCKED';
  }

  private async group(id: string): Promise<boolean | undefined> {
    const path = '/v2/organization/asset-groups';
    this.ownGroup ??= String((await this.write(path, { json: { name: 'First' } })).id);
    await this.write(`${path}/${this.ownGroup}`, { method: 'PATCH', json: { name: id } });
    const body = await this.read('group', path);
    return body && body.groups[0]?.name === id;
  }

  private async report(id: string, at: string): Promise<void> {
    const asset = { type: 'URL', content: `${id}.example` };
    const { organization } = this;
    const data = { organization, threatId: id, asset, status: 'BLOCKED', createdAt: at, updatedAt: at };
    await this.ingest(sent('ThreatStatusChanged', data, id));
    this.threats += 1;
  }

  private async ingest(event: Sent): Promise<void> {
    await this.write('/v2/events', { key: this.shared.ingest, events: [cloudEvent(event)] });
  }
}

/** Reads the metrics of an organization again and again: they only grow. */
class Follower extends TokenClient {
  private seen = 0;

  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const body = await this.read('metrics', '/v2/organization/metrics');
      const now = body?.metrics.newThreats ?? this.seen;
      if (now < this.seen) this.shared.findings.push(`A client that had seen ${this.seen} threats then saw ${now}`);
      this.seen = Math.max(this.seen, now);
      await sleep(20);
    }
  }
}

/** Stops the projector, and the replay of the replica, in turn. @returns how often */
const disturb = async ({ plain, standbys }: Replicated, signal: AbortSignal): Promise<number> => {
  const [projector] = plain.projectors;
  const standby = standbys.servers[1]!;
  let times = 0;
  for (; !signal.aborted; times += 1) {
    const ms = STOPS_MS[(times >> 1) % STOPS_MS.length];
    if (times % 2 === 0) {
      projector!.signal('SIGSTOP');
      await sleep(ms);
      projector!.signal('SIGCONT');
    } else {
      await standbys.ask(standby, 'select pg_wal_replay_pause()');
      await sleep(ms);
      await standbys.ask(standby, 'select pg_wal_replay_resume()');
    }
    await sleep(CALM_MS);
  }
  return times;
};

const keep = async (scene: Scene, { writes }: TokensDose, without?: Without): Promise<Outcome> => {
  const organizations = Array.from({ length: CLIENTS }, (_, n) => `client-${n}`);
  const changed =
    without === undefined ? undefined : { env: { WITHOUT_TOKENS: without }, preload: preloadOf('without-tokens') };
  const replicated = await Replicated.start(scene, MAX_LAG, organizations, changed);
  const { plain, withReplica, keys } = replicated;
  const urls = withReplica.map(({ url }) => url);
  const shared: Shared = { urls, ingest: keys.ingest, random: scene.random, findings: [], reads: [] };
  const { findings, reads } = shared;
  const clients = organizations.map((name) => new Writer(shared, name, keys.read[name]!));
  const followers = organizations.slice(0, FOLLOWERS).map((name) => new Follower(shared, name, keys.read[name]!));
  const stop = new AbortController();
  scene.later(async () => stop.abort());
  const before = await replicated.readsOfReplica();
  const disturbing = disturb(replicated, stop.signal);
  const following = followers.map((follower) => follower.follow(stop.signal));
  let written = 0;
  await Promise.all(
    clients.map(async (client) => {
      // With a guard taken out the first finding is enough.
      while (written < writes && (without === undefined || findings.length === 0)) {
        await client.writeAndRead((written += 1));
        scene.tell(`${written} writes, ${findings.length} findings`);
      }
    }),
  );
  stop.abort();
  const [times] = await Promise.all([disturbing, ...following]);
  const ofReplica = (await replicated.readsOfReplica()) - before;
  if (without === undefined && ofReplica === 0) findings.push('The replica answered no read');
  findings.push(...[plain, ...withReplica].flatMap(({ processes }) => died(processes)));
  const ms = reads.map((read) => read.ms);
  const refused = reads.reduce((sum, read) => sum + read.refused, 0);
  const kinds = KINDS.map((kind) => `${kind} ${reads.filter((read) => read.kind === kind).length}`).join(', ');
  return {
    dose: `${written} writes of ${CLIENTS} clients; projector or replay stopped ${times} times for 0.3 to 4 s`,
    seen:
      `${reads.length} reads with a token (${kinds}), each with its write; half within ` +
      `${Math.round(percentile(ms, 0.5))} ms, p99 ${Math.round(percentile(ms, 0.99))} ms; ${refused} times a 503 in ` +
      `time; ${ofReplica} statements of reads answered by the replica`,
    findings: findings.slice(0, 20),
  };
};

/** Both guards, one after the other: each alone must be noticed. */
const withoutEach = async (scene: Scene): Promise<Outcome> => {
  const ofWait = await keep(scene, { writes: 500 }, 'wait');
  if (ofWait.findings.length === 0) return ofWait;
  const ofRule = await keep(scene, { writes: 500 }, 'replica-rule');
  return ofRule.findings.length === 0 ? ofRule : { ...ofRule, findings: [...ofWait.findings, ...ofRule.findings] };
};

export const tokensKept: Scenario<TokensDose> = {
  name: 'F33',
  what: 'clients read what they have written, while the projector or the replica stands still',
  full: { writes: 10_000 },
  unfit: needs(findPrograms() !== undefined, POSTGRES_PROGRAMS),
  run: (scene, dose) => keep(scene, dose),
  guard: 'the wait for a token, and no replica that has not reached it',
  without: withoutEach,
};
