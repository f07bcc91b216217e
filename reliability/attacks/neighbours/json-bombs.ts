import type { Outcome, Scenario } from '../../scenario.js';
import { sendRequest } from '../../rig/http-request.js';
import type { RunContext } from '../../rig/run-context.js';
import { withBystanders } from '../../rig/bystanders.js';
import { runConcurrently } from '../../rig/run-concurrently.js';
import { startNaiveService, startAttackTarget, TENANTS } from '../../rig/shared-services.js';
import { Statuses } from '../../rig/statuses.js';
import type { Target } from '../../rig/target.js';

interface Scale {
  readonly rounds: number;
  readonly atOnce: number;
  /** The number of kinds of bodies. */
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

/** Bodies within the size limit that are large once they are parsed. */
const bombs = (): Bomb[] => {
  const bulk = (body: string): Bomb => ({ path: BULK, type: 'application/json', body });
  const events = (body: string): Bomb => ({ path: EVENTS, type: 'application/cloudevents-batch+json', body });
  const at = 5 * MB - 1;
  const maxBytes = 8 * MB - 1;
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
    events(filled('', '[', '', maxBytes)),
    events(filled('[', '[],', '[]]', maxBytes)),
    events(filled('[', '{},', '{}]', maxBytes)),
    events(filled('[', '{"a":', '', maxBytes)),
    events(filled('[{"data":', '[', '', maxBytes)),
    events(filled('[', '1,', '1]', maxBytes)),
    events(filled('[{"id":"', '\\u0000', '"}]', maxBytes)),
    events(filled('', ' ', '[]', maxBytes)),
    events(filled('[{', '"id":1,', '"id":1}]', maxBytes)),
  ];
};

const attack = async (context: RunContext, target: Target, scale: Scale): Promise<Outcome> => {
  const { rounds, atOnce, kinds } = scale;
  const all = bombs().slice(0, kinds);
  const statuses = new Statuses();
  const { observed, findings } = await withBystanders(context, target, () =>
    runConcurrently(atOnce, all.length * rounds, async (n) => {
      const { path, type, body } = all[n % all.length]!;
      const key = path === BULK ? target.keys[TENANTS[12]!] : target.ingestKeys[TENANTS[12]!];
      const { status, headers } = await sendRequest(target.url + path, { key, type, body, timeoutMs: 60_000 }).catch(
        () => ({
          status: 0,
          headers: {},
        }),
      );
      statuses.add(status, headers);
      context.reportProgress(`${n} of ${all.length * rounds} bodies`);
    }),
  );
  return {
    workload: `${all.length} bodies of 5 to 16 MiB, ${atOnce} at once, ${rounds} times, heap of ${HEAP_MB} MB`,
    observed: `${statuses}; ${observed}`,
    // An early rejection may reach the sender as a reset (0).
    findings: [...findings, ...statuses.check(0, 200, 400, 413, 429, 503)],
  };
};

export const jsonBombs: Scenario<Scale> = {
  name: 'S19',
  what: 'bodies below the size limit that are expensive to parse',
  asvs: {
    '1.5.2': 'Safe Deserialization',
    '15.2.2': 'Security Architecture and Dependencies',
    '15.4.4': 'Safe Concurrency',
  },
  full: { rounds: 10, atOnce: 16 },
  run: async (context, scale) => attack(context, await startAttackTarget(context, { env: SMALL }), scale),
  guard: 'a body is parsed by its schema, and rejected at the first mismatch',
  controlScale: { rounds: 1, atOnce: 4, kinds: 4 },
  withoutGuard: async (context, scale) => attack(context, await startNaiveService(context, SMALL), scale),
};
