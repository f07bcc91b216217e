import type { Outcome, Scenario } from '../../scenario.js';
import { sendRequest } from '../../rig/http-request.js';
import { runConcurrently } from '../../rig/run-concurrently.js';
import { startNaiveService, TENANTS } from '../../rig/shared-services.js';
import type { Target } from '../../rig/target.js';

interface Scale {
  readonly rounds: number;
}

const AT_ONCE = 50;
const PATH = '/v2/organization/asset-groups';

const attack = async (target: Target, { rounds }: Scale): Promise<Outcome> => {
  const [mine, theirs] = [TENANTS[6]!, TENANTS[7]!];
  const findings = new Set<string>();
  const create = (organization: string, name: string, idempotencyKey?: string): ReturnType<typeof sendRequest> =>
    sendRequest(target.url + PATH, {
      key: target.keys[organization],
      json: { name },
      ...(idempotencyKey && { headers: { 'idempotency-key': idempotencyKey } }),
    });
  const listed = async (organization: string): Promise<number> =>
    (await sendRequest(target.url + PATH, { key: target.keys[organization] })).body.groups.length;
  const run = Date.now();
  const before = [await listed(mine), await listed(theirs)];
  for (let round = 0; round < rounds; round += 1) {
    const key = `key-${run}-${round}`;
    const ids = new Set<number>();
    await runConcurrently(AT_ONCE, AT_ONCE, async () => {
      const { status, body } = await create(mine, `same ${key}`, key);
      if (status !== 201) findings.add(`The same key and body is answered ${status}`);
      ids.add(body.id);
    });
    if (ids.size !== 1) findings.add(`${AT_ONCE} requests with one key made ${ids.size} groups`);
    const another = await create(mine, `other ${key}`, key);
    if (another.status !== 422) findings.add(`The same key and another body is answered ${another.status}`);
    const statuses: number[] = [];
    await runConcurrently(AT_ONCE, AT_ONCE, async () => {
      statuses.push((await create(mine, `raced ${key}`)).status);
    });
    const won = statuses.filter((status) => status === 201).length;
    if (won !== 1 || statuses.some((status) => status !== 201 && status !== 409))
      findings.add(`${won} of ${AT_ONCE} creates of one name won`);
    if ((await create(theirs, `same ${key}`, key)).status !== 201)
      findings.add('One organization’s key stands in another’s way');
  }
  const made = [(await listed(mine)) - before[0]!, (await listed(theirs)) - before[1]!];
  if (made[0] !== 2 * rounds || made[1] !== rounds)
    findings.add(`${made.join(' and ')} groups are there, not ${2 * rounds} and ${rounds}`);
  return {
    workload: `${rounds} × ${AT_ONCE} concurrently with one Idempotency-Key, ${AT_ONCE} with one name, one Idempotency-Key in two organizations`,
    observed: 'one group each, 422 for another body, 409 for the other creations',
    findings: [...findings],
  };
};

export const idempotency: Scenario<Scale> = {
  name: 'S13',
  what: 'the same creation many times concurrently',
  asvs: { '15.4.2': 'Safe Concurrency', '2.3.4': 'Business Logic Security' },
  full: { rounds: 40 },
  run: async (_, scale, sharedServices) => attack(await sharedServices.service(), scale),
  guard: 'an append with an expected revision decides who gets a name',
  withoutGuard: async (context, scale) => attack(await startNaiveService(context), scale),
};
