import { setTimeout as sleep } from 'node:timers/promises';
import { cloudEvent, sent } from '../../test/support/upstream.js';
import type { Random } from '../../test/support/random.js';
import type { Outcome, Scenario } from '../scenario.js';
import { type HttpResponse, sendRequest } from '../rig/http-request.js';
import { checkVerify, waitUntilCounted } from '../rig/check.js';
import { type LogKind, openLogStorage } from '../rig/log-storage.js';
import { waitUntilKeysKnown } from '../rig/keys.js';
import { startService } from '../rig/running-service.js';
import type { RunContext } from '../rig/run-context.js';
import { Service } from '../rig/service.js';

interface Scale {
  readonly rounds: number;
}

interface Counted {
  readonly id: number;
  readonly assetCount: number;
}

interface Listed {
  readonly id: number;
  readonly name: string;
}

const ORGANIZATION = 'acme';
/** Concurrent clients that create groups. */
const CLIENTS = 6;
/** The maximum time in ms before the service is killed. */
const MAX_ROUND = 200;
/** The groups that the clients fill and empty. */
const GROUPS = [1, 2, 3];

/** What the clients know: the id of each created group, and the names whose creation got no response. */
class Clients {
  readonly idByName = new Map<string, number>();
  readonly unanswered = new Set<string>();
  readonly findings: string[] = [];
  private created = 0;

  constructor(
    private readonly url: () => string,
    private readonly key: string,
  ) {}

  /** Creates a group. @param name default: a new name */
  async create(name = `Group ${(this.created += 1)}`): Promise<HttpResponse['status']> {
    this.unanswered.add(name);
    const created = sendRequest(`${this.url()}/v2/organization/asset-groups`, { key: this.key, json: { name } });
    const { status, body } = await created.catch(() => ({ status: 0, body: undefined }));
    if (status === 0 || status === 503) return status;
    this.unanswered.delete(name);
    if (status === 201) this.idByName.set(name, body.id);
    return status;
  }

  async list(): Promise<readonly Listed[]> {
    const { status, body } = await sendRequest(`${this.url()}/v2/organization/asset-groups`, { key: this.key });
    if (status !== 200) this.findings.push(`The list of groups got the status ${status}`);
    return status === 200 ? body.groups : [];
  }

  /**
   * Checks after a restart that every acknowledged group exists, and that every other name is either listed or free.
   */
  async look(): Promise<void> {
    const groups = new Map((await this.list()).map(({ id, name }) => [name, id]));
    for (const [name, id] of this.idByName)
      if (groups.get(name) !== id)
        this.findings.push(`${name} was created with the id ${id}, but now has ${groups.get(name)}`);
    for (const name of this.unanswered) {
      const id = groups.get(name);
      const status = await this.create(name);
      if (status !== (id === undefined ? 201 : 409))
        this.findings.push(
          `${name} is ${id === undefined ? 'not ' : ''}listed, but creating it got the status ${status}`,
        );
      if (id !== undefined) this.idByName.set(name, id);
    }
    const ids = (await this.list()).map(({ id }) => id);
    if (ids.some((id, index) => id !== index + 1)) this.findings.push(`The group ids are ${ids.join(' ')}`);
    if (ids.length !== this.idByName.size)
      this.findings.push(`${ids.length} groups are listed, but ${this.idByName.size} were created`);
  }
}

/** The assets that only one client adds, removes and moves. */
const OWN_ASSETS = 12;
const PAGE = 50;

/** A client that knows which group each of its assets is in. */
class AssetClient {
  /** The group of the last response (0: none), and the possible groups after later requests without a response. */
  private readonly places = new Map<string, { answered: number; possible: number[] }>();

  constructor(
    private readonly name: number,
    private readonly url: () => string,
    private readonly key: string,
    private readonly findings: string[],
  ) {}

  /** Adds some of its assets to a group, or removes them from it. */
  async change(random: Random, groups: readonly number[]): Promise<void> {
    const group = random.pick(groups);
    const contents = Array.from({ length: OWN_ASSETS }, (_, n) => `c${this.name}-${n}.example`).filter(() =>
      random.chance(0.4),
    );
    if (contents.length > 0) await this.send(contents, group, random.chance(0.3) ? 'remove' : 'add');
  }

  /** Checks that each asset is in the acknowledged group, or in a possible one. */
  check(groupOf: ReadonlyMap<string, number>): void {
    for (const [content, place] of this.places) {
      const { answered, possible } = place;
      const found = groupOf.get(content) ?? 0;
      if (found !== answered && !possible.includes(found))
        this.findings.push(`${content} was added to group ${answered}, but is in ${found}`);
      this.places.set(content, { answered: found, possible: [] });
    }
  }

  private async send(contents: readonly string[], group: number, action: 'add' | 'remove'): Promise<void> {
    const path = `/v2/organization/asset-groups/${group}/assets${action === 'remove' ? '/remove' : ''}`;
    const befores = contents.map((content) => this.places.get(content) ?? { answered: 0, possible: [] });
    const afterOf = (before: number): number => (action === 'add' ? group : before === group ? 0 : before);
    contents.forEach((content, n) => {
      const { answered, possible } = befores[n]!;
      const places = [answered, ...possible];
      this.places.set(content, { answered, possible: [...new Set([...possible, ...places.map(afterOf)])] });
    });
    const changed = sendRequest(this.url() + path, { key: this.key, json: { contents } });
    const { status, body } = await changed.catch(() => ({ status: 0, body: undefined }));
    if (status !== 200) return;
    const found = await this.groupOf(group);
    contents.forEach((content, n) => {
      const { result, movedFrom } = body.results[n];
      const { answered, possible } = befores[n]!;
      const before = result === 'moved' ? movedFrom : result === 'added' ? 0 : result === 'removed' ? group : undefined;
      if (before !== undefined && before !== answered && !possible.includes(before))
        this.findings.push(`${content} was ${result} from ${before}, but was in ${answered}`);
      if (found !== undefined && found.has(content) !== (action === 'add'))
        this.findings.push(`${content} was ${result} according to the response, but the next list disagrees`);
      if (action === 'add') this.places.set(content, { answered: group, possible: [] });
      else {
        const possibleAfter = [answered, ...possible].map(afterOf);
        this.places.set(content, { answered: possibleAfter[0]!, possible: possibleAfter.slice(1) });
      }
    });
  }

  private async groupOf(group: number): Promise<ReadonlySet<string> | undefined> {
    const url = `${this.url()}/v2/organization/asset-groups/${group}/assets?limit=1000`;
    const { status, body } = await sendRequest(url, { key: this.key }).catch(() => ({ status: 0, body: undefined }));
    return status === 200 ? new Set(body.assets.map(({ content }: { content: string }) => content)) : undefined;
  }
}

/** Reads all members of all groups, and checks that each occurs once and that the counts are correct. */
const readMembers = async (url: string, key: string, findings: string[]): Promise<ReadonlyMap<string, number>> => {
  const groups = `${url}/v2/organization/asset-groups`;
  const groupOf = new Map<string, number>();
  for (const { id, assetCount } of (await sendRequest(groups, { key })).body.groups as readonly Counted[]) {
    let listed = 0;
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const { body }: HttpResponse = await sendRequest(
        `${groups}/${id}/assets?limit=${PAGE}${cursor && `&cursor=${cursor}`}`,
        {
          key,
        },
      );
      for (const { content } of body.assets) {
        if (groupOf.has(content)) findings.push(`${content} is in ${groupOf.get(content)} and in ${id}`);
        groupOf.set(content, id);
        listed += 1;
      }
      cursor = body.nextCursor;
    }
    if (listed !== assetCount) findings.push(`Group ${id} counts ${assetCount} assets and lists ${listed}`);
  }
  return groupOf;
};

const killInTheMiddle = async (
  context: RunContext,
  kind: LogKind,
  { rounds }: Scale,
  preload?: string,
): Promise<Outcome> => {
  const env = await openLogStorage(context, kind);
  const { keys, ...opened } = await startService(context, env, { organizations: [ORGANIZATION], preload });
  let { service } = opened;
  const clients = new Clients(() => service.url, keys.read[ORGANIZATION]!);
  const members = Array.from(
    { length: CLIENTS },
    (_, n) => new AssetClient(n, () => service.url, keys.read[ORGANIZATION]!, clients.findings),
  );
  for (const name of ['First', 'Second', 'Third']) await clients.create(name);
  for (const member of members) await member.change(context.random, GROUPS);
  let asset = 0;
  const group = (groupId: number): Promise<unknown> =>
    sendRequest(`${service.url}/v2/events`, {
      key: keys.ingest,
      events: [
        cloudEvent(
          sent('AssetGrouped', {
            organization: ORGANIZATION,
            groupId,
            asset: { type: 'URL', content: `${(asset += 1) % 50}.example` },
            updatedAt: new Date(1_767_225_600_000 + asset).toISOString(),
          }),
        ),
      ],
    }).catch(() => undefined);
  let creationsWithoutResponse = 0;
  for (let round = 1; round <= rounds && clients.findings.length === 0; round += 1) {
    context.reportProgress(`round ${round} of ${rounds}, ${clients.idByName.size} groups`);
    let isOver = false;
    const working = members.map(async (member) => {
      while (!isOver) {
        await member.change(context.random, GROUPS);
        await clients.create();
        if (context.random.chance(0.2)) await group(1 + context.random.int(clients.idByName.size + 1));
      }
    });
    await sleep(context.random.next() * MAX_ROUND);
    await service.kill();
    isOver = true;
    await Promise.all(working);
    creationsWithoutResponse += clients.unanswered.size;
    service = await Service.start(context, { env, preload });
    await waitUntilKeysKnown(service.url, keys);
    await clients.look();
    // Events that the killed service stored may not be projected yet.
    await waitUntilCounted(service.url);
    const groupOf = await readMembers(service.url, keys.read[ORGANIZATION]!, clients.findings);
    for (const member of members) member.check(groupOf);
  }
  if (preload === undefined) clients.findings.push(...(await checkVerify(context, env)));
  return {
    workload: `${rounds} × kill -9 while ${CLIENTS} clients create, fill and empty groups`,
    observed: `${clients.idByName.size} groups, ${creationsWithoutResponse} creations without a response; each name is free or listed, each asset in its group`,
    findings: clients.findings,
  };
};

/** A module to preload into the service: it acknowledges a creation before the event is appended. */
const ANSWERED_TOO_EARLY = `data:text/javascript,${encodeURIComponent(`
  const { CommandQueue } = await import(${JSON.stringify(new URL('file://' + process.cwd() + '/dist/src/event-log/command-queue.js').href)});
  const { append } = CommandQueue.prototype;
  CommandQueue.prototype.append = async function (...parts) {
    setTimeout(() => append.apply(this, parts).catch(() => {}), 15);
    return true;
  };
`)}`;

const killedWhileCreating = (kind: LogKind): Scenario<Scale> => ({
  name: `groups on ${kind}`,
  what: `kill -9 of the service while groups are created and filled; log in ${kind}`,
  full: { rounds: 50 },
  run: (context, scale) => killInTheMiddle(context, kind, scale),
  guard: 'a creation is acknowledged after its append',
  controlScale: { rounds: 1 },
  withoutGuard: (context, scale) => killInTheMiddle(context, kind, scale, ANSWERED_TOO_EARLY),
});

export const groupsOnPostgres = killedWhileCreating('PostgreSQL');
export const groupsOnEventStore = killedWhileCreating('EventStoreDB');
