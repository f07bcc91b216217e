import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../../support/free-port.js';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';
import { type Program, startProgram } from '../../support/program.js';
import { someAtOnce } from '../../support/some-at-once.js';

const GUIDES = 'docs/guides';
const TIMEOUT_MS = 180_000;

/** A request with an error status fails, also where a guide does not say so; a receiver that still runs is stopped. */
const STRICT = `set -o pipefail
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
curl() { case " $* " in *' -f '*) command curl "$@";; *) command curl --fail-with-body "$@";; esac; }
`;

/**
 * The second paste issues no keys, so it does not wait until new keys work. The other pauses of the guides wait for
 * something that happens again.
 */
const WITHOUT_NEW_KEYS = `sleep() { case $1 in 2) ;; *) command sleep "$@";; esac; }
`;

interface Guide {
  readonly name: string;
  /** What the responses to the pasted commands contain, in this order. */
  readonly shows: readonly string[];
  /** What the responses to the second paste contain. */
  readonly again?: readonly string[];
  /** Blocks that are not pasted: they start the service, fetch packages, or are for another machine. */
  readonly except?: readonly RegExp[];
}

/** How many guides are pasted at once: most of their time they sleep, such as until a new key works. */
const AT_ONCE = 4;

/** Every guide. The figures of the first one are those of an empty service; the others are pasted after it. */
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
  {
    name: 'local-lists.md',
    shows: ['"name":"all-8b"', 'LISTED https://a.evil.example', 'LISTED https://a.evil.example'],
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
    shows: ['"wouldCount":[{', '"accepted":1,"duplicates":0', '"status":"counted"'],
    // The usage is a second behind, which the first time may not take.
    again: ['"status":"counted"', '"usage":[{'],
  },
  {
    name: 'webhooks.md',
    shows: ['"state":', '"attempts":', '204', '"ACTIVE"', '"secret":', '"DISABLED"'],
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
    const masterKey = join(folder, 'webhook-master-key');
    writeFileSync(masterKey, `${Buffer.alloc(32, 7).toString('base64')}\n`, { mode: 0o600 });
    service = startProgram('src/cli.js', ['start'], {
      env: {
        DATABASE_URL: database.url,
        DATA_DIR: join(folder, 'data'),
        PORT: '0',
        LISTS: 'on',
        WEBHOOK_MASTER_KEY_FILE: masterKey,
        WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1',
      },
    });
    url = await service.listening();
    receiverPort = await freePort();
  }, TIMEOUT_MS);
  afterAll(async () => {
    await service.end();
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs a script in which each command, and each request, must succeed. */
  const paste = async (script: string, into: string): Promise<string> => {
    const here = script.replaceAll('http://127.0.0.1:3000', url).replaceAll('8080', String(receiverPort));
    const env = { ...process.env, DATABASE_URL: database.url };
    const { stdout } = await promisify(execFile)('bash', ['-euc', STRICT + here], { cwd: into, env });
    return stdout;
  };

  /** Pastes a guide twice into a folder of its own. @returns the responses of the first time */
  const pasteTwice = async (guide: Guide): Promise<string> => {
    const into = join(folder, guide.name);
    mkdirSync(into);
    for (const part of ['dist', 'docs', 'src']) symlinkSync(resolve(part), join(into, part));
    const script = blocksOf(guide);
    const shown = await paste(script, into);
    const again = await paste(WITHOUT_NEW_KEYS + script, into);
    for (const text of guide.again ?? []) expect(again).toContain(text);
    return shown;
  };

  it('is in the table', () => {
    expect(TABLE.map(({ name }) => name).sort()).toEqual(readdirSync(GUIDES).sort());
  });

  describe('shows what it says, and can be pasted again:', () => {
    const [first, ...others] = TABLE;
    let shownBy: ReadonlyMap<Guide, Promise<string>>;
    beforeAll(async () => {
      const alone = await someAtOnce([first!], 1, pasteTwice);
      shownBy = new Map([...alone, ...(await someAtOnce(others, AT_ONCE, pasteTwice))]);
    }, TIMEOUT_MS);

    it.each(TABLE)('$name', async (guide) => {
      const shown = await shownBy.get(guide)!;
      let from = 0;
      for (const text of guide.shows) {
        const at = shown.indexOf(text, from);
        expect([text, at >= 0 ? 'shown' : shown]).toEqual([text, 'shown']);
        from = at + text.length;
      }
    });
  });
});
