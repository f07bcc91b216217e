import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../../support/free-port.js';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';
import { type Program, startProgram } from '../../support/program.js';

const GUIDES = 'docs/guides';
const TIMEOUT_MS = 180_000;

/** A request with an error status fails, also where a guide does not say so; a receiver that still runs is stopped. */
const STRICT = `set -o pipefail
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
curl() { case " $* " in *' -f '*) command curl "$@";; *) command curl --fail-with-body "$@";; esac; }
`;

interface Guide {
  readonly name: string;
  /** What the responses to the pasted commands contain, in this order. */
  readonly shows: readonly string[];
  /** Blocks that are not pasted: they start the service, fetch packages, or are for another machine. */
  readonly except?: readonly RegExp[];
}

/** Every guide, in the order in which a reader might paste them into one folder. */
const TABLE: readonly Guide[] = [
  {
    name: 'getting-started.md',
    shows: [
      '"accepted":2,"duplicates":0',
      '"newThreats":1,',
      '"newThreats":1,',
      '"status":"BLOCKED"',
      'newThreats 55583',
    ],
    except: [/npm start/],
  },
  { name: 'asset-check.md', shows: ['"status":', '"summary":', '"statuses":'] },
  { name: 'asset-groups.md', shows: ['"name":"Landing pages"', '"added"', '"removed"', '"Shops"', '"success":true'] },
  {
    name: 'clients.md',
    shows: ['"groups":', '"content":"example.org"', '"accepted":1', '"reports":1'],
    except: [/npm install/],
  },
  { name: 'dashboard.md', shows: [] },
  {
    name: 'disputes.md',
    shows: ['"accepted":1', '"status":"BLOCKED"', '"status":"OPEN"', '"secret":', 'security@acme.example'],
  },
  { name: 'taxii.md', shows: ['"api_roots"', '"alias":"threats"', '"objects":[', '"more":'] },
  {
    name: 'metrics.md',
    shows: ['"newThreats":', '"points":', '"difference":', '"timeToTakedown":', '"falsePositives":'],
  },
  {
    name: 'restatement.md',
    shows: [
      '"accepted":61,"duplicates":0',
      '"accepted":5,"duplicates":0',
      'by the instant: the same bytes',
      'by the token: the same bytes',
      '"newThreats":-2',
      '"late":{"added":1,"removed":0},"corrected":{"added":0,"removed":3}',
      '"cause":"new"',
      ',moved,false,',
      ',deleted,false,',
      ',status,false,',
    ],
  },
  {
    name: 'records-and-feed.md',
    shows: ['"accepted":1', '"threat-7021"', '"threat-protection.threat"', 'threat-protection.threat threat-7021 {'],
  },
  {
    name: 'sending-events.md',
    shows: ['"wouldCount":[{', '"accepted":1,"duplicates":0', '"status":"counted"', '"usage":'],
  },
  {
    name: 'webhooks.md',
    shows: ['"ACTIVE"', '"attempts":', '204', '"secret":', '"DISABLED"'],
    except: [/webhook-master-key/],
  },
];

const blocksOf = ({ name, except = [] }: Guide): string =>
  [...readFileSync(join(GUIDES, name), 'utf8').matchAll(/```sh\n(.*?)```/gs)]
    .map(([, block]) => block!)
    .filter((block) => !except.some((pattern) => pattern.test(block)))
    .join('\n');

describe('A guide, pasted as a whole into a fresh folder,', () => {
  let database: TestDatabase;
  let folder: string;
  let service: Program;
  let url: string;
  let receiverPort: number;

  beforeAll(async () => {
    database = await createDatabase();
    folder = mkdtempSync(join(tmpdir(), 'threat-protection-guides-'));
    for (const part of ['dist', 'docs', 'src']) symlinkSync(resolve(part), join(folder, part));
    const masterKey = join(folder, 'webhook-master-key');
    writeFileSync(masterKey, `${Buffer.alloc(32, 7).toString('base64')}\n`, { mode: 0o600 });
    service = startProgram('src/cli.js', ['start'], {
      env: {
        DATABASE_URL: database.url,
        DATA_DIR: join(folder, 'data'),
        PORT: '0',
        WEBHOOK_MASTER_KEY_FILE: masterKey,
        WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1',
      },
    });
    url = await service.listening();
    receiverPort = await freePort();
  }, TIMEOUT_MS);
  afterAll(async () => {
    await service.stop();
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs a script in which each command, and each request, must succeed. */
  const paste = async (script: string): Promise<string> => {
    const here = script.replaceAll('http://127.0.0.1:3000', url).replaceAll('8080', String(receiverPort));
    const env = { ...process.env, DATABASE_URL: database.url };
    const { stdout } = await promisify(execFile)('bash', ['-euc', STRICT + here], { cwd: folder, env });
    return stdout;
  };

  it('is in the table', () => {
    expect(TABLE.map(({ name }) => name).sort()).toEqual(readdirSync(GUIDES).sort());
  });

  it.each(TABLE)(
    '$name shows what it says, and can be pasted again',
    async (guide) => {
      const script = blocksOf(guide);
      const shown = await paste(script);
      let from = 0;
      for (const text of guide.shows) {
        const at = shown.indexOf(text, from);
        expect([text, at >= 0 ? 'shown' : shown]).toEqual([text, 'shown']);
        from = at + text.length;
      }
      await paste(script);
    },
    TIMEOUT_MS,
  );
});
