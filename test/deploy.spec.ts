import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { CORE_SCHEMA, load, loadAll } from 'js-yaml';
import type { Deployment } from 'kubernetes-types/apps/v1.js';
import type { CronJob, Job } from 'kubernetes-types/batch/v1.js';
import type { Container, PodSpec, Service } from 'kubernetes-types/core/v1.js';
import type { NetworkPolicy } from 'kubernetes-types/networking/v1.js';
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.js';
import ts from 'typescript';
import { apiFlags } from '../src/cli/start.js';
import { readConfig } from '../src/runtime/config.js';

const FOLDER = 'deploy/kubernetes';
const KUSTOMIZATION = 'kustomization.yaml';
const VERSION = (JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }).version;

interface Kustomization {
  readonly resources: readonly string[];
  readonly images: readonly { readonly name: string; readonly newTag: string }[];
  readonly configMapGenerator: readonly { readonly name: string; readonly literals: readonly string[] }[];
}
interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

const read = (file: string): string => readFileSync(join(FOLDER, file), 'utf8');
const kustomization = load(read(KUSTOMIZATION), { schema: CORE_SCHEMA }) as Kustomization;
const files = readdirSync(FOLDER).filter((file) => file !== KUSTOMIZATION);
const manifests = files.flatMap((file) => loadAll(read(file), { schema: CORE_SCHEMA }) as Manifest[]);
const ofKind = <Kind>(kind: string): Kind[] => manifests.filter((each) => each.kind === kind) as unknown as Kind[];

const deployments = ofKind<Deployment>('Deployment');
const jobs = ofKind<Job>('Job');
const cronJobs = ofKind<CronJob>('CronJob');
const pods = [
  ...deployments,
  ...jobs,
  ...cronJobs.map(({ metadata, spec }) => ({ ...spec!.jobTemplate, metadata })),
].map(({ metadata, spec }) => [metadata!.name!, spec!.template.spec!] as const satisfies readonly [string, PodSpec]);
const containerOf = (name: string): Container => pods.find(([pod]) => pod === name)![1].containers[0]!;
const settings = Object.fromEntries(
  kustomization.configMapGenerator[0]!.literals.map((literal) => literal.split(/=(.*)/s).slice(0, 2)),
) as Record<string, string>;

/** Checks manifests against the declarations of `kubernetes-types`: missing, misspelt and wrongly typed fields. */
const faultsOf = (all: readonly Manifest[]): string[] => {
  const source = all
    .map(({ apiVersion, kind, ...rest }, index) => {
      const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['core', apiVersion];
      const path = `kubernetes-types/${group!.split('.')[0]!}/${version!}`;
      return `import type { ${kind} as T${index} } from '${path}';
        export const m${index}: T${index} = ${JSON.stringify({ apiVersion, kind, ...rest })};`;
    })
    .join('\n');
  const name = resolve('test/manifests.ts');
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
    lib: ['lib.es5.d.ts'],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
  };
  const host = ts.createCompilerHost(options);
  const parse = host.getSourceFile.bind(host);
  host.getSourceFile = (file, version, ...rest) =>
    file === name ? ts.createSourceFile(file, source, version) : parse(file, version, ...rest);
  const program = ts.createProgram([name], options, host);
  return ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
};

describe('The manifests for Kubernetes', () => {
  it('match the declarations of the Kubernetes API, and a planted mistake is found', () => {
    const [first] = deployments as unknown as [Manifest & { spec: object }];
    const misspelt = { ...first, spec: { ...first.spec, replica: 3 } };
    const faults = faultsOf([...manifests, misspelt, { ...first, spec: { ...first.spec, replicas: '3' } } as Manifest]);
    expect(faults).toEqual([
      expect.stringContaining(`'"replica"' does not exist in type 'DeploymentSpec'`),
      expect.stringContaining(`Type 'string' is not assignable to type 'number'`),
    ]);
  });

  it('are all listed in the kustomization, with the image of this version', () => {
    expect([...kustomization.resources].sort()).toEqual(files);
    expect(kustomization.images).toEqual([{ name: 'threat-protection', newTag: VERSION }]);
    for (const [, { containers }] of pods) expect(containers).toMatchObject([{ image: 'threat-protection' }]);
  });

  it('start the API, the projector, the delivery process and the migration job with the same commands as the other deployments', () => {
    expect(deployments.map(({ metadata }) => metadata!.name)).toEqual(['api', 'deliveries', 'projector']);
    expect(jobs.map(({ metadata }) => metadata!.name)).toEqual(['migrate']);
    expect(containerOf('api').command).toEqual(['node', ...apiFlags(undefined), 'dist/src/main.js']);
    for (const [, { containers }] of pods) {
      const script = containers[0]!.command!.find((word) => word.startsWith('dist/'))!;
      expect(existsSync(script.replace(/^dist\/(.*)\.js$/, '$1.ts'))).toBe(true);
    }
    expect(containerOf('migrate').command!.at(-1)).toBe('migrate');
  });

  it('apply the retention every night with the same call as the systemd unit and the cron line, once resumed', () => {
    expect(cronJobs.map(({ metadata }) => metadata!.name)).toEqual(['retention']);
    const { suspend, concurrencyPolicy, schedule } = cronJobs[0]!.spec!;
    // Applying the manifests must not redact anything before the operator has chosen an age.
    expect({ suspend, concurrencyPolicy }).toEqual({ suspend: true, concurrencyPolicy: 'Forbid' });
    const call = containerOf('retention').command!.slice(1).join(' ');
    const unit = readFileSync('docs/operations/systemd/threat-protection-retention.service', 'utf8');
    expect(unit).toContain(`ExecStart=/usr/bin/node ${call}\n`);
    expect(readFileSync('docs/operations/data-lifecycle.md', 'utf8')).toContain(
      `${schedule} threat-protection cd /opt/threat-protection && /usr/bin/node ${call}\n`,
    );
  });

  it('contain valid settings and no secret', () => {
    const config = readConfig({ ...settings, DATABASE_URL: 'postgres://u:p@postgres/threats' });
    for (const name of Object.keys(settings)) expect([name, config.names.has(name)]).toEqual([name, true]);
    expect(config.migrates).toBe(false);
    for (const [pod, { containers }] of pods) {
      expect([pod, containers[0]!.env]).toEqual([pod, undefined]);
      expect(containers[0]!.envFrom).toEqual([
        { configMapRef: { name: 'settings' } },
        { secretRef: { name: 'database' } },
      ]);
    }
    expect(files.map(read).join()).not.toMatch(/:\/\/\w+:\w+@|kind: Secret/);
  });

  it('probe each process on the port where it listens', () => {
    const portsOf = (name: string): unknown => containerOf(name).ports;
    expect(portsOf('api')).toEqual([
      { name: 'http', containerPort: 3000 },
      { name: 'ops', containerPort: Number(settings['OPS_PORT']) },
    ]);
    expect(portsOf('projector')).toEqual([{ name: 'ops', containerPort: Number(settings['PROJECTOR_OPS_PORT']) }]);
    expect(portsOf('deliveries')).toEqual([{ name: 'ops', containerPort: Number(settings['DELIVERIES_OPS_PORT']) }]);
    for (const [name, port] of [
      ['api', 'http'],
      ['projector', 'ops'],
      ['deliveries', 'ops'],
    ] as const) {
      const { startupProbe, livenessProbe, readinessProbe } = containerOf(name);
      expect(startupProbe!.httpGet).toEqual({ path: '/health/live', port });
      expect(livenessProbe!.httpGet).toEqual({ path: '/health/live', port });
      expect(readinessProbe!.httpGet).toEqual({ path: '/health/ready', port });
      // A health report takes two seconds if a part does not respond.
      for (const probe of [livenessProbe!, readinessProbe!]) expect(probe.timeoutSeconds).toBeGreaterThan(2);
    }
  });

  it('run as an ordinary user on a read-only file system, without capabilities and without a token', () => {
    for (const [, { containers, securityContext, automountServiceAccountToken }] of pods) {
      expect(automountServiceAccountToken).toBe(false);
      expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      expect(containers[0]!.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(containers[0]!.resources).toMatchObject({ requests: {}, limits: { memory: expect.any(String) } });
      expect(containers[0]!.volumeMounts).toEqual(expect.arrayContaining([{ name: 'data', mountPath: '/data' }]));
    }
  });

  it('keep each process running while nodes are drained and versions change, spread over nodes and zones', () => {
    const budgets = ofKind<PodDisruptionBudget>('PodDisruptionBudget');
    for (const { metadata, spec } of deployments) {
      const { name } = metadata!;
      const matchLabels = { 'app.kubernetes.io/name': name! };
      expect(spec!.replicas).toBeGreaterThan(1);
      expect(spec!.strategy!.rollingUpdate).toEqual({ maxUnavailable: 0, maxSurge: 1 });
      expect([spec!.selector.matchLabels, spec!.template.metadata!.labels]).toEqual([matchLabels, matchLabels]);
      const budget = budgets.find((each) => each.metadata!.name === name)!;
      expect(budget.spec).toEqual({ maxUnavailable: 1, selector: { matchLabels } });
      const { topologySpreadConstraints, terminationGracePeriodSeconds, containers } = spec!.template.spec!;
      expect(topologySpreadConstraints!.map(({ topologyKey, labelSelector }) => [topologyKey, labelSelector])).toEqual([
        ['kubernetes.io/hostname', { matchLabels }],
        ['topology.kubernetes.io/zone', { matchLabels }],
      ]);
      // A graceful shutdown takes at most 10 s after the preStop delay.
      const preStopSeconds = Number(containers[0]!.lifecycle?.preStop?.exec?.command?.[1] ?? 0);
      expect(terminationGracePeriodSeconds).toBeGreaterThan(preStopSeconds + 10);
    }
    expect(ofKind<Service>('Service').map(({ spec }) => [spec!.selector, spec!.ports])).toEqual([
      [{ 'app.kubernetes.io/name': 'api' }, [{ name: 'http', port: 80, targetPort: 'http' }]],
    ]);
  });

  it('allow only the listed incoming and outgoing connections', () => {
    const policies = Object.fromEntries(
      ofKind<NetworkPolicy>('NetworkPolicy').map(({ metadata, spec }) => [metadata!.name!, spec!]),
    );
    expect(policies['nothing-else']).toEqual({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
    const rules = Object.values(policies).flatMap(({ ingress = [], egress = [] }) => [...ingress, ...egress]);
    // Each rule names ports, or addresses outside the cluster.
    for (const rule of rules) expect(rule.ports ?? ('to' in rule ? rule.to : [])).not.toEqual([]);
    expect(policies['prometheus']!.ingress![0]!.ports).toEqual([{ port: 'ops' }]);
  });
});
