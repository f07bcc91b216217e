import { setTimeout as sleep } from 'node:timers/promises';
import { cloudEvent, sent } from '../../test/support/upstream.js';
import type { Random } from '../../test/support/random.js';
import type { Outcome, Scenario } from '../scenario.js';
import { type Answer, ask } from '../rig/ask.js';
import { checkVerify, counted } from '../rig/check.js';
import { type LogKind, openGround } from '../rig/ground.js';
import { keysKnown } from '../rig/keys.js';
import { open } from '../rig/opened.js';
import type { Scene } from '../rig/scene.js';
import { Service } from '../rig/service.js';

interface Dose {
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
/** Clients that create one group after the other. */
const CLIENTS = 6;
/** The longest that they do so before the service dies, ms. */
const MAX_ROUND = 200;
/** Which they fill and empty. */
const GROUPS = [1, 2, 3];

/** What the clients know of the groups: the number each name was answered with; none where no answer came. */
class Clients {
  readonly numbers = new Map<string, number>();
  readonly unanswered = new Set<string>();
  readonly findings: string[] = [];
  private created = 0;

  constructor(
    private readonly url: () => string,
    private readonly key: string,
  ) {}

  /** @param name a new one unless told */
  async create(name = `Group ${(this.created += 1)}`): Promise<Answer['status']> {
    this.unanswered.add(name);
    const created = ask(`${this.url()}/v2/organization/asset-groups`, { key: this.key, json: { name } });
    const { status, body } = await created.catch(() => ({ status: 0, body: undefined }));
    if (status === 0 || status === 503) return status;
    this.unanswered.delete(name);
    if (status === 201) this.numbers.set(name, body.id);
    return status;
  }

  async list(): Promise<readonly Listed[]> {
    const { status, body } = await ask(`${this.url()}/v2/organization/asset-groups`, { key: this.key });
    if (status !== 200) this.findings.push(`The list answered ${status}`);
    return status === 200 ? body.groups : [];
  }

  /** After a start: what was answered is there, and what was not is either there or free. */
  async look(): Promise<void> {
    const groups = new Map((await this.list()).map(({ id, name }) => [name, id]));
    for (const [name, id] of this.numbers)
      if (groups.get(name) !== id) this.findings.push(`${name} was answered as ${id} and is ${groups.get(name)}`);
    for (const name of this.unanswered) {
      const id = groups.get(name);
      const status = await this.create(name);
      if (status !== (id === undefined ? 201 : 409))
        this.findings.push(`${name} is ${id === undefined ? 'not ' : ''}listed, but creating it answered ${status}`);
      if (id !== undefined) this.numbers.set(name, id);
    }
    const ids = (await this.list()).map(({ id }) => id);
    if (ids.some((id, index) => id !== index + 1)) this.findings.push(`The numbers are ${ids.join(' ')}`);
    if (ids.length !== this.numbers.size)
      this.findings.push(`${ids.length} groups are listed, ${this.numbers.size} were made`);
  }
}

/** Contents that one client puts into groups, takes out and moves; nobody else does. */
const OWN_ASSETS = 12;
const PAGE = 50;

/** What one client knows of where its assets are. */
class Member {
  /** The group it was last answered for, 0 for none; and where later requests that were not answered may have put it. */
  private readonly places = new Map<string, { answered: number; possible: number[] }>();

  constructor(
    private readonly name: number,
    private readonly url: () => string,
    private readonly key: string,
    private readonly findings: string[],
  ) {}

  /** Puts a few of its assets into a group, or takes them out of the one that it last put them into. */
  async change(random: Random, groups: readonly number[]): Promise<void> {
    const group = random.pick(groups);
    const contents = Array.from({ length: OWN_ASSETS }, (_, n) => `c${this.name}-${n}.example`).filter(() =>
      random.chance(0.4),
    );
    if (contents.length > 0) await this.send(contents, group, random.chance(0.3) ? 'remove' : 'add');
  }

  /** What was answered is where it was answered to be, what was not is there or where it was before. */
  check(groupOf: ReadonlyMap<string, number>): void {
    for (const [content, place] of this.places) {
      const { answered, possible } = place;
      const found = groupOf.get(content) ?? 0;
      if (found !== answered && !possible.includes(found))
        this.findings.push(`${content} was put into ${answered} and is in ${found}`);
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
    const changed = ask(this.url() + path, { key: this.key, json: { contents } });
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
        this.findings.push(`${content} was answered as ${result}, and the next list has it otherwise`);
      if (action === 'add') this.places.set(content, { answered: group, possible: [] });
      else {
        const rest = [answered, ...possible].map(afterOf);
        this.places.set(content, { answered: rest[0]!, possible: rest.slice(1) });
      }
    });
  }

  private async groupOf(group: number): Promise<ReadonlySet<string> | undefined> {
    const url = `${this.url()}/v2/organization/asset-groups/${group}/assets?limit=1000`;
    const { status, body } = await ask(url, { key: this.key }).catch(() => ({ status: 0, body: undefined }));
    return status === 200 ? new Set(body.assets.map(({ content }: { content: string }) => content)) : undefined;
  }
}

/** Every member of every group by its content, read page by page; each once, and as many as the list counts. */
const readMembers = async (url: string, key: string, findings: string[]): Promise<ReadonlyMap<string, number>> => {
  const groups = `${url}/v2/organization/asset-groups`;
  const groupOf = new Map<string, number>();
  for (const { id, assetCount } of (await ask(groups, { key })).body.groups as readonly Counted[]) {
    let listed = 0;
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const { body }: Answer = await ask(`${groups}/${id}/assets?limit=${PAGE}${cursor && `&cursor=${cursor}`}`, {
        key,
      });
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

const killInTheMiddle = async (scene: Scene, kind: LogKind, { rounds }: Dose, preload?: string): Promise<Outcome> => {
  const env = await openGround(scene, kind);
  const { keys, ...opened } = await open(scene, env, { organizations: [ORGANIZATION], preload });
  let { service } = opened;
  const clients = new Clients(() => service.url, keys.read[ORGANIZATION]!);
  const members = Array.from(
    { length: CLIENTS },
    (_, n) => new Member(n, () => service.url, keys.read[ORGANIZATION]!, clients.findings),
  );
  for (const name of ['First', 'Second', 'Third']) await clients.create(name);
  for (const member of members) await member.change(scene.random, GROUPS);
  let asset = 0;
  const group = (groupId: number): Promise<unknown> =>
    ask(`${service.url}/v2/events`, {
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
  let cut = 0;
  for (let round = 1; round <= rounds && clients.findings.length === 0; round += 1) {
    scene.tell(`round ${round} of ${rounds}, ${clients.numbers.size} groups`);
    let isOver = false;
    const working = members.map(async (member) => {
      while (!isOver) {
        await member.change(scene.random, GROUPS);
        await clients.create();
        if (scene.random.chance(0.2)) await group(1 + scene.random.int(clients.numbers.size + 1));
      }
    });
    await sleep(scene.random.next() * MAX_ROUND);
    await service.kill();
    isOver = true;
    await Promise.all(working);
    cut += clients.unanswered.size;
    service = await Service.start(scene, { env, preload });
    await keysKnown(service.url, keys);
    await clients.look();
    // What the dead service stored and did not answer may still be on its way into the lists.
    await counted(service.url);
    const groupOf = await readMembers(service.url, keys.read[ORGANIZATION]!, clients.findings);
    for (const member of members) member.check(groupOf);
  }
  if (preload === undefined) clients.findings.push(...(await checkVerify(scene, env)));
  return {
    dose: `${rounds} × kill -9 amid ${CLIENTS} clients that create, fill and empty groups`,
    seen: `${clients.numbers.size} groups, ${cut} creates cut off, each name free or listed, each asset where it was put`,
    findings: clients.findings,
  };
};

/** Loaded into the service: answers a create before its append. */
const ANSWERED_TOO_EARLY = `data:text/javascript,${encodeURIComponent(`
  const { CommandQueue } = await import(${JSON.stringify(new URL('file://' + process.cwd() + '/dist/src/event-log/command-queue.js').href)});
  const { append } = CommandQueue.prototype;
  CommandQueue.prototype.append = async function (...parts) {
    setTimeout(() => append.apply(this, parts).catch(() => {}), 15);
    return true;
  };
`)}`;

const killedWhileCreating = (kind: LogKind): Scenario<Dose> => ({
  name: `groups on ${kind}`,
  what: `kill -9 of the service while groups are created and filled, the log in ${kind}`,
  full: { rounds: 50 },
  run: (scene, dose) => killInTheMiddle(scene, kind, dose),
  guard: 'a create is answered after its append',
  counterTest: { rounds: 1 },
  without: (scene, dose) => killInTheMiddle(scene, kind, dose, ANSWERED_TOO_EARLY),
});

export const groupsOnPostgres = killedWhileCreating('PostgreSQL');
export const groupsOnEventStore = killedWhileCreating('EventStoreDB');
