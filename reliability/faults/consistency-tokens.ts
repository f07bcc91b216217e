import { setTimeout as sleep } from 'node:timers/promises';
import { findPrograms, POSTGRES_PROGRAMS } from '../../test/support/postgres-programs.js';
import type { Random } from '../../test/support/random.js';
import { cloudEvent, EXAMPLES, type Sent, sent } from '../../test/support/upstream.js';
import type { Outcome, Scenario } from '../scenario.js';
import { type HttpResponse, sendRequest, percentile, type HttpRequest } from '../rig/http-request.js';
import { requireProgram } from '../rig/require-program.js';
import { endedProcesses } from '../rig/outage.js';
import { preloadOf } from '../rig/processes.js';
import { Replicated } from '../rig/replicated.js';
import type { RunContext } from '../rig/run-context.js';

interface TokensScale {
  /** The number of writes; each is followed by a read with its token. */
  readonly writes: number;
}

/** The guard that a negative control removes. */
type Without = 'wait' | 'replica-rule';

const CLIENTS = 8;
const FOLLOWERS = 2;
/** The allowed lag is so high that replicas always stay in use. Only tokens prevent stale reads. */
const MAX_LAG = 86_400;
/** The wait times of reads (`Prefer: wait=`) in seconds; undefined: no header, which means 2 s. */
const WAITS = [undefined, 1, 3] as const;
/** How late after its deadline a 503 may arrive on a busy machine. */
const LATE_MS = 3_000;
const AGAIN_AFTER_MS = 100;
const TIMEOUT_MS = 60_000;
/** Some stops are longer than the wait times of reads. */
const STOPS_MS = [300, 2_500, 800, 4_000] as const;
const CALM_MS = 700;
const FROM = Date.parse('2026-03-01T00:00:00Z');
const PAGE = 1_000;

const KINDS = ['metrics', 'list', 'feed', 'check', 'group'] as const;
type Kind = (typeof KINDS)[number];

/** A read with all its attempts. */
interface Done {
  readonly kind: Kind;
  readonly ms: number;
  /** The number of attempts that got a 503. */
  readonly refused: number;
}

interface Shared {
  readonly urls: readonly string[];
  readonly ingest: string;
  readonly random: Random;
  readonly findings: string[];
  readonly reads: Done[];
}

/** A client that sends each request with its newest token, to a random process. */
class TokenClient {
  private newest: string | undefined;

  constructor(
    protected readonly shared: Shared,
    protected readonly organization: string,
    private readonly key: string,
  ) {}

  /** Sends a write, with retries. @throws Error if it does not succeed in time */
  protected async write(path: string, question: HttpRequest): Promise<any> {
    for (const until = Date.now() + TIMEOUT_MS; ; await sleep(AGAIN_AFTER_MS)) {
      const { status, body } = await this.send(path, question);
      if (status === 200 || status === 201) return body;
      if ((status !== 503 && status !== 429) || Date.now() > until)
        throw new Error(`${path} answered ${status}: ${JSON.stringify(body).slice(0, 300)}`);
    }
  }

  /** Retries a read while it gets a 503 in time. @returns the body; undefined if it failed, which is a finding */
  protected async read(kind: Kind, path: string, question: HttpRequest = {}): Promise<any> {
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
      const about = `${kind} got the status ${status} after ${Math.round(ms)} ms: ${JSON.stringify(body).slice(0, 200)}`;
      if (status !== 503 || received['retry-after'] === undefined) findings.push(about);
      else if (ms > (wait ?? 2) * 1_000 + LATE_MS) findings.push(`${about}, which is after its deadline`);
      else if (performance.now() - began > TIMEOUT_MS) findings.push(`${about}, in attempt ${refused + 1}`);
      else {
        await sleep(AGAIN_AFTER_MS);
        continue;
      }
      return undefined;
    }
  }

  private async send(path: string, { headers, ...question }: HttpRequest): Promise<HttpResponse> {
    const { urls, random } = this.shared;
    const token: HttpRequest['headers'] = this.newest === undefined ? {} : { 'consistency-token': this.newest };
    const answer = await sendRequest(random.pick(urls) + path, {
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

/** The only writer of an organization. It reads each of its writes immediately. */
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

  /**
   * The following methods write, read, and return whether the read included the write; undefined without a response.
   */
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

/** Reads the metrics of an organization repeatedly; they must never decrease. */
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

/** Alternately stops the projector and the replay of the replica. @returns how often */
const disturb = async ({ primaryOnly, standbys }: Replicated, signal: AbortSignal): Promise<number> => {
  const [projector] = primaryOnly.projectors;
  const standby = standbys.servers[1]!;
  let times = 0;
  for (; !signal.aborted; times += 1) {
    const ms = STOPS_MS[(times >> 1) % STOPS_MS.length];
    if (times % 2 === 0) {
      projector!.signal('SIGSTOP');
      await sleep(ms);
      projector!.signal('SIGCONT');
    } else {
      await standbys.query(standby, 'select pg_wal_replay_pause()');
      await sleep(ms);
      await standbys.query(standby, 'select pg_wal_replay_resume()');
    }
    await sleep(CALM_MS);
  }
  return times;
};

const runClients = async (context: RunContext, { writes }: TokensScale, removedGuard?: Without): Promise<Outcome> => {
  const organizations = Array.from({ length: CLIENTS }, (_, n) => `client-${n}`);
  const changed =
    removedGuard === undefined
      ? undefined
      : { env: { WITHOUT_TOKENS: removedGuard }, preload: preloadOf('without-tokens') };
  const replicated = await Replicated.start(context, MAX_LAG, organizations, changed);
  const { primaryOnly, withReplica, keys } = replicated;
  const urls = withReplica.map(({ url }) => url);
  const shared: Shared = { urls, ingest: keys.ingest, random: context.random, findings: [], reads: [] };
  const { findings, reads } = shared;
  const clients = organizations.map((name) => new Writer(shared, name, keys.read[name]!));
  const followers = organizations.slice(0, FOLLOWERS).map((name) => new Follower(shared, name, keys.read[name]!));
  const stop = new AbortController();
  context.onEnd(async () => stop.abort());
  const before = await replicated.readsOfReplica();
  const disturbing = disturb(replicated, stop.signal);
  const following = followers.map((follower) => follower.follow(stop.signal));
  let written = 0;
  await Promise.all(
    clients.map(async (client) => {
      // Without a guard the first finding suffices.
      while (written < writes && (removedGuard === undefined || findings.length === 0)) {
        await client.writeAndRead((written += 1));
        context.reportProgress(`${written} writes, ${findings.length} findings`);
      }
    }),
  );
  stop.abort();
  const [times] = await Promise.all([disturbing, ...following]);
  const ofReplica = (await replicated.readsOfReplica()) - before;
  if (removedGuard === undefined && ofReplica === 0) findings.push('The replica served no read');
  findings.push(...[primaryOnly, ...withReplica].flatMap(({ processes }) => endedProcesses(processes)));
  const ms = reads.map((read) => read.ms);
  const refused = reads.reduce((sum, read) => sum + read.refused, 0);
  const kinds = KINDS.map((kind) => `${kind} ${reads.filter((read) => read.kind === kind).length}`).join(', ');
  return {
    workload: `${written} writes of ${CLIENTS} clients; projector or replay stopped ${times} times for 0.3 to 4 s`,
    observed:
      `${reads.length} reads with a token (${kinds}), each including its write; p50 ` +
      `${Math.round(percentile(ms, 0.5))} ms, p99 ${Math.round(percentile(ms, 0.99))} ms; ${refused} × 503 within the ` +
      `deadline; ${ofReplica} read statements served by the replica`,
    findings: findings.slice(0, 20),
  };
};

/** Removes each of the two guards separately; each run must have findings. */
const withoutEach = async (context: RunContext): Promise<Outcome> => {
  const ofWait = await runClients(context, { writes: 500 }, 'wait');
  if (ofWait.findings.length === 0) return ofWait;
  const ofRule = await runClients(context, { writes: 500 }, 'replica-rule');
  return ofRule.findings.length === 0 ? ofRule : { ...ofRule, findings: [...ofWait.findings, ...ofRule.findings] };
};

export const consistencyTokens: Scenario<TokensScale> = {
  name: 'F33',
  what: 'clients read their own writes while the projector or the replica is stopped',
  full: { writes: 10_000 },
  skipReason: requireProgram(findPrograms() !== undefined, POSTGRES_PROGRAMS),
  run: (context, scale) => runClients(context, scale),
  guard: 'reads wait for their token, and replicas that have not reached it are not used',
  withoutGuard: withoutEach,
};
