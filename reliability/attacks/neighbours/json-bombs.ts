import type { Outcome, Scenario } from '../../scenario.js';
import { ask } from '../../rig/ask.js';
import type { Scene } from '../../rig/scene.js';
import { unnoticed } from '../../rig/bystanders.js';
import { inLanes } from '../../rig/lanes.js';
import { openNaive, openService, TENANTS } from '../../rig/site.js';
import { Statuses } from '../../rig/statuses.js';
import type { Target } from '../../rig/target.js';

interface Dose {
  readonly rounds: number;
  readonly atOnce: number;
  /** How many of the kinds. */
  readonly kinds?: number;
}

const MB = 1024 * 1024;
const BULK = '/v2/asset/check/bulk';
const EVENTS = '/v2/events';
const HEAP_MB = 512;
const SMALL = { NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}` };

const filled = (begin: string, unit: string, end: string, size: number): string =>
  begin + unit.repeat(Math.floor((size - begin.length - end.length) / unit.length)) + end;

interface Bomb {
  readonly path: string;
  readonly type: string;
  readonly body: string;
}

/** Bodies that are small enough to be read and large once they are. */
const bombs = (): Bomb[] => {
  const bulk = (body: string): Bomb => ({ path: BULK, type: 'application/json', body });
  const events = (body: string): Bomb => ({ path: EVENTS, type: 'application/cloudevents-batch+json', body });
  const at = 5 * MB - 1;
  const most = 8 * MB - 1;
  return [
    bulk(filled('', '[', '', at)),
    bulk(filled('', '[', '', 16 * MB)),
    bulk(filled('', '{"a":', '', at)),
    bulk(filled('{"contents":', '[', '', at)),
    bulk(filled('{"contents":[', '[],', '[]]}', at)),
    bulk(filled('{"contents":[', '{},', '{}]}', at)),
    bulk(filled('{"contents":[', '"",', '""]}', at)),
    bulk(filled('{"contents":["', '\\u0000', '"]}', at)),
    bulk(filled('{"contents":["a"],"', '\\u0000', '":1}', at)),
    bulk(filled('{"contents":[', '1e1,', '1]}', at)),
    bulk(filled('', ' ', '{"contents":[]}', at)),
    bulk(filled('{', '"contents":[],', '"contents":[]}', at)),
    events(filled('', '[', '', most)),
    events(filled('[', '[],', '[]]', most)),
    events(filled('[', '{},', '{}]', most)),
    events(filled('[', '{"a":', '', most)),
    events(filled('[{"data":', '[', '', most)),
    events(filled('[', '1,', '1]', most)),
    events(filled('[{"id":"', '\\u0000', '"}]', most)),
    events(filled('', ' ', '[]', most)),
    events(filled('[{', '"id":1,', '"id":1}]', most)),
  ];
};

const attack = async (scene: Scene, target: Target, dose: Dose): Promise<Outcome> => {
  const { rounds, atOnce, kinds } = dose;
  const all = bombs().slice(0, kinds);
  const statuses = new Statuses();
  const { seen, findings } = await unnoticed(scene, target, () =>
    inLanes(atOnce, all.length * rounds, async (n) => {
      const { path, type, body } = all[n % all.length]!;
      const key = path === BULK ? target.keys[TENANTS[12]!] : target.senders[TENANTS[12]!];
      const { status, headers } = await ask(target.url + path, { key, type, body, timeoutMs: 60_000 }).catch(() => ({
        status: 0,
        headers: {},
      }));
      statuses.note(status, headers);
      scene.tell(`${n} of ${all.length * rounds} bodies`);
    }),
  );
  return {
    dose: `${all.length} bodies of 5 to 16 MiB, ${atOnce} at once, ${rounds} times, heap of ${HEAP_MB} MB`,
    seen: `${statuses}; ${seen}`,
    // An early refusal may reach a sender as a reset: 0.
    findings: [...findings, ...statuses.check(0, 200, 400, 413, 429, 503)],
  };
};

export const jsonBombs: Scenario<Dose> = {
  name: 'S19',
  what: 'bodies below the size limit that are expensive to read',
  asvs: {
    '1.5.2': 'Safe Deserialization',
    '15.2.2': 'Security Architecture and Dependencies',
    '15.4.4': 'Safe Concurrency',
  },
  full: { rounds: 10, atOnce: 16 },
  run: async (scene, dose) => attack(scene, await openService(scene, { env: SMALL }), dose),
  guard: 'a body is read as what it must be, and refused at the first thing else',
  counterTest: { rounds: 1, atOnce: 4, kinds: 4 },
  without: async (scene, dose) => attack(scene, await openNaive(scene, SMALL), dose),
};
