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
  const [firstTenant, secondTenant] = [TENANTS[6]!, TENANTS[7]!];
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
  const before = [await listed(firstTenant), await listed(secondTenant)];
  for (let round = 0; round < rounds; round += 1) {
    const key = `key-${run}-${round}`;
    const ids = new Set<number>();
    await runConcurrently(AT_ONCE, AT_ONCE, async () => {
      const { status, body } = await create(firstTenant, `same ${key}`, key);
      if (status !== 201) findings.add(`The same key and body got the status ${status}`);
      ids.add(body.id);
    });
    if (ids.size !== 1) findings.add(`${AT_ONCE} requests with one key made ${ids.size} groups`);
    const another = await create(firstTenant, `other ${key}`, key);
    if (another.status !== 422) findings.add(`The same key with another body got the status ${another.status}`);
    const statuses: number[] = [];
    await runConcurrently(AT_ONCE, AT_ONCE, async () => {
      statuses.push((await create(firstTenant, `raced ${key}`)).status);
    });
    const won = statuses.filter((status) => status === 201).length;
    if (won !== 1 || statuses.some((status) => status !== 201 && status !== 409))
      findings.add(`${won} of ${AT_ONCE} creations of one name succeeded`);
    if ((await create(secondTenant, `same ${key}`, key)).status !== 201)
      findings.add('The Idempotency-Key of one organization affects another organization');
  }
  const createdGroups = [(await listed(firstTenant)) - before[0]!, (await listed(secondTenant)) - before[1]!];
  if (createdGroups[0] !== 2 * rounds || createdGroups[1] !== rounds)
    findings.add(`${createdGroups.join(' and ')} groups exist instead of ${2 * rounds} and ${rounds}`);
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
