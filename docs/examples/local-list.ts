// Keeps two local lists current in the current folder, and says of each line that it reads what they say: local-list.ts URL.
// ASK: only the service can say; STALE: a list is missing or too old. LISTS_KEY: a key with the scope `lists`, unless the
// lists are public. LISTS_PUBLIC_KEY: the keys of the signatures, separated by spaces, which are not checked without it.
// LISTS_EVERY_SECONDS: asks so often, as behind a CDN, and does not wait for changes.
import { createHash, createPublicKey, verify } from 'node:crypto';
import { existsSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';

const VALID_MS = 24 * 3_600_000; // `validSeconds` of GET /v2/lists
const MAX_NUMBERS = 4_000_000; // of one list: 32 MB
const MAX_BYTES = 64 * 2 ** 20; // of one response

export type Result = 'ASK' | 'LISTED' | 'NOT_LISTED';
export type Half = 'list' | 'ask'; // all-8b or own-8b; ask-8b
/** If the half has the expression, the content has the result; but ASK if `list` also has the last expression. */
export type Step = [half: Half, expression: string, result: Result, askIf?: string];
export type Coded = { firstValue: string; riceParameter: number; entriesCount: number; encodedData: string };
type Version = { name: string; version: string; sha256: string; cutAt: string; signature?: string };
export type Update = Version & { partialUpdate: boolean; removals?: Coded; additions?: Coded };
export type List = Version & { hashes: BigUint64Array }; // ascending

const LABEL = '[a-z0-9_](?:[a-z0-9_-]{0,62})';
const NAME = String.raw`(?:${LABEL}\.)+[a-z][a-z0-9-]{0,62}`;
const BYTE = String.raw`(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`;
const ADDRESS = String.raw`${BYTE}(?:\.${BYTE}){3}`;
const IS_ADDRESS = new RegExp(`^${ADDRESS}$`);
// A link without anything that may carry another link: no colon, no escape, no slash in its parameters.
const LINK = new RegExp(
  String.raw`^(?:https?://)?(${NAME}|${ADDRESS})((?:/[a-z0-9._~-]+)*)(/?)((?:\?[a-z0-9._~=&-]*)?(?:#[a-z0-9_~=&-]*)?)$`,
  'i',
);
const MAILBOX = new RegExp(String.raw`^([a-z0-9_-]{1,64})@(${NAME})$`);
const PLAIN_ACCOUNT =
  /^(?:(?:bc|ltc)1[02-9ac-hj-np-z]{11,90}|[13][1-9A-HJ-NP-Za-km-z]{25,33}|T[1-9A-HJ-NP-Za-km-z]{33}|[1-9A-HJ-NP-Za-km-z]{43,44})$/;
const EVM_ACCOUNT = /^0x[0-9a-f]{40}$/i;
const CID = /^baf[a-z2-7]{56}$/;
const HAS_CID = /^[^.]{46}|\.ipfs\./; // A first label so long may be a CID.
const IS_PRIVATE = /(?:^|\.)(?:localhost|localdomain|local|internal|home\.arpa)$/; // Only the service checks mailboxes there.
const HAS_ALIASES = /^(?:gmail|googlemail)\.com$/; // Gmail ignores dots and what follows a plus sign.
const IS_GOOGLE = /(?:^|\.)google\./; // Google has hosts that carry links in every country.
const HOLDS_OTHERS = /sso=/i; // A parameter whose value holds others in base64.

/** Whether a client can look up a path: one of plain characters that no gateway serves. */
export const isPlainPath = (path: string): boolean =>
  /^(?:\/[A-Za-z0-9._~-]+)+$/.test(path) &&
  !/\.(?:\/|$)/.test(path) &&
  !/^\/ip[fn]s\//i.test(path) &&
  path.split('/').length <= 16;

/** Returns a host and the domains above it that have at least two labels, longest first. */
export const withParents = (host: string): string[] => {
  const labels = host.split('.');
  return labels.slice(1).map((_, n) => labels.slice(n).join('.'));
};

export const formOf = (host: string): string => host.slice(0, host.lastIndexOf('.')).replace('www.', ''); // what it imitates
/** Returns the expression of the range of IPv4 addresses around an address. */
export const rangeExpression = (address: string, bits: number): string => {
  const value = address.split('.').reduce((sum, byte) => sum * 256 + Number(byte), 0);
  const first = Math.floor(value / 2 ** (32 - bits)) * 2 ** (32 - bits);
  return `v${bits}/${[24, 16, 8, 0].map((shift) => (first >>> shift) & 255).join('.')}`;
};

const listed = (expression: string): Step => ['list', expression, 'LISTED'];
const notListed = (expression: string, askIf?: string): Step => ['list', `!${expression}`, 'NOT_LISTED', askIf];
const ask = (expression: string): Step => ['ask', expression, 'ASK'];
const either = (expression: string): Step[] => [listed(expression), notListed(expression)];

const stepsOfHost = (host: string, form?: string): Step[] => {
  const [, ...above] = withParents(host);
  const own = [...either(`=${host}/`), ask(`=${host}/`), ...either(`${host}/`), ask(`${host}/`)];
  const inherited = above.flatMap((one) => [listed(`${one}/`), notListed(`${one}/`, form), ask(`${one}/`)]);
  return [...own, ...inherited, ...(form === undefined ? [] : [listed(form)])];
};

const stepsOfAddress = (address: string): Step[] => {
  const ranges = Array.from({ length: 25 }, (_, index) => rangeExpression(address, 32 - index));
  const ofRanges = ranges.flatMap((range) => [...either(range), ask(range)]);
  return [...either(`=${address}/`), ...either(`${address}/`), ...ofRanges];
};

const stepsOfPage = (hosts: readonly string[], path: string, isNamedByMore: boolean): Step[] => {
  const steps: Step[] = [];
  for (const [level, host] of hosts.slice(0, 5).entries())
    for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) {
      const page = host + path.slice(0, end);
      steps.push(...either(`${level === 0 ? '=' : '*'}${page}${end === path.length ? '$' : '/'}`), ...either(page));
    }
  return isNamedByMore ? steps.map(([half, expression]) => [half, expression, 'ASK']) : steps;
};

/** Returns what decides about a content, in order; undefined if only the service can read it. */
export const stepsOf = (content: string): readonly Step[] | undefined => {
  if (EVM_ACCOUNT.test(content)) return [listed(`ADDRESS:${content.toLowerCase()}`)];
  if (CID.test(content)) return [listed(`IPFS:${content}`)];
  if (PLAIN_ACCOUNT.test(content)) return [listed(`ADDRESS:${content}`)];
  const [, user, server = ''] = MAILBOX.exec(content) ?? [];
  if (user !== undefined)
    return IS_PRIVATE.test(server) || HAS_ALIASES.test(server) || server.length > 253
      ? undefined
      : [...either(`EMAIL:${content}`), ...either(`@${server}/`), ...stepsOfHost(server)];
  const [, sent = '', path = '', slash, more = ''] = LINK.exec(content) ?? [];
  const host = sent.toLowerCase();
  const isAddress = IS_ADDRESS.test(host);
  if (host === '' || host.length > 253 || HAS_CID.test(host) || HOLDS_OTHERS.test(more)) return undefined;
  if (more !== '' && path + slash === '') return undefined;
  if (IS_PRIVATE.test(host)) return [];
  const onHost = isAddress ? stepsOfAddress(host) : stepsOfHost(host, `~${formOf(host)}`);
  if (path + more === '') return onHost;
  if (IS_GOOGLE.test(host) || (path !== '' && !isPlainPath(path))) return undefined;
  const hosts = isAddress ? [host] : withParents(host);
  return [...hosts.map((one) => ask(`${one}/*`)), ...stepsOfPage(hosts, path, more !== ''), ...onHost];
};

/** Says what the lists say about a content. `has`: whether one of the two lists has an expression. */
export const lookUp = (content: string, has: (half: Half, expression: string) => boolean): Result => {
  const steps = stepsOf(content);
  if (steps === undefined) return 'ASK';
  const [, , result, askIf] = steps.find(([half, expression]) => has(half, expression)) ?? [];
  return askIf !== undefined && has('list', askIf) ? 'ASK' : (result ?? 'NOT_LISTED');
};

export const hashOf = (text: string): bigint => createHash('sha256').update(text).digest().readBigUInt64BE();
const holds = (hashes: BigUint64Array, hash: bigint): boolean => {
  let low = 0;
  for (let high = hashes.length; low < high;) {
    const middle = (low + high) >>> 1;
    if (hashes[middle]! < hash) low = middle + 1;
    else high = middle;
  }
  return hashes[low] === hash;
};

/** Decodes ascending numbers. Refuses only what would take too much memory, because the checksum finds all other errors. */
export const decode = ({ firstValue, riceParameter, entriesCount, encodedData }: Coded): BigUint64Array => {
  const isInRange = riceParameter >= 0 && riceParameter < 64 && entriesCount >= 0 && entriesCount < MAX_NUMBERS;
  const isPossible = isInRange && encodedData.length <= 12 * (entriesCount + 1); // A number takes at most 72 bits.
  const data = Buffer.from(isPossible ? encodedData : '', 'base64');
  if (!isPossible || data.length * 8 < entriesCount * (riceParameter + 1))
    throw new RangeError(
      `${encodedData.length} characters cannot be ${entriesCount} numbers with parameter ${riceParameter}`,
    );
  let at = 0;
  const bits = (count: number): number => {
    let value = 0;
    for (let n = 0; n < count; n += 1, at += 1) if ((data[at >>> 3]! >>> (at & 7)) & 1) value += 2 ** n;
    return value;
  };
  const numbers = new BigUint64Array(entriesCount + 1).fill(BigInt(firstValue), 0, 1);
  for (let n = 1; n <= entriesCount; n += 1) {
    let quotient = 0;
    while (bits(1) === 1) quotient += 1;
    const [low, high] = [bits(Math.min(riceParameter, 32)), bits(Math.max(riceParameter - 32, 0))];
    numbers[n] = numbers[n - 1]! + (BigInt(quotient) << BigInt(riceParameter)) + (BigInt(high) << 32n) + BigInt(low);
  }
  return numbers;
};

const bytesOf = (hashes: BigUint64Array): Buffer => Buffer.from(hashes.slice().buffer).swap64();
const hashesOf = (bytes: Buffer): BigUint64Array => new BigUint64Array(Uint8Array.from(bytes.swap64()).buffer);

const isSigned = (text: string, signature: string, publicKey: string): boolean => {
  const x = Buffer.from(publicKey, 'base64').toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  return verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64'));
};

/** Returns the list; throws if it is not the one that was signed with one of the keys. */
const verified = (list: List, publicKeys?: string): List => {
  const { name, version, sha256, cutAt, signature = '', hashes } = list;
  if (createHash('sha256').update(bytesOf(hashes)).digest('hex') !== sha256)
    throw new Error(`${name} does not have the checksum of version ${version}`);
  if (publicKeys === undefined) return list;
  const text = [name, version, sha256, cutAt].join('\n');
  if (publicKeys.match(/\S+/g)?.some((each) => isSigned(text, signature, each))) return list;
  throw new Error(`Version ${version} of ${name} is not signed by the service`);
};

/** Returns the list after an update; throws if the result is not the one that was signed, or is older than `held`. */
export const updated = (update: Update, name: string, held?: List, publicKeys?: string): List => {
  const { partialUpdate, removals, additions, ...version } = update;
  if (version.name !== name) throw new Error(`${version.name} was sent instead of ${name}`);
  if (held !== undefined && Date.parse(version.cutAt) < Date.parse(held.cutAt))
    throw new Error(`Version ${version.version} of ${name} is older than version ${held.version}`);
  const removed = new Set(removals && Array.from(decode(removals), Number));
  const kept = partialUpdate ? held!.hashes.filter((_, index) => !removed.has(index)) : [];
  const hashes = BigUint64Array.from([...kept, ...(additions ? decode(additions) : [])]).sort();
  return verified({ ...version, hashes }, publicKeys);
};

export const check = (content: string, lists: { [half in Half]?: List }, now = Date.now()): Result | 'STALE' => {
  const isCurrent = (half: Half): boolean => Math.abs(now - Date.parse(lists[half]?.cutAt ?? '')) <= VALID_MS;
  if (!isCurrent('list') || !isCurrent('ask')) return 'STALE';
  return lookUp(content, (half, expression) => holds(lists[half]!.hashes, hashOf(expression)));
};

/** In seconds; 1 if it is no number, such as the date that a proxy may send. */
const waitOf = (sent: unknown): number => Math.min(Math.max(1, Number(sent) || 1), 3_600);

const bodyOf = async (response: Response): Promise<string> => {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new RangeError(`The response has more than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
};

const run = async (service: string): Promise<void> => {
  const { LISTS_KEY: apiKey, LISTS_PUBLIC_KEY: publicKeys, LISTS_EVERY_SECONDS: every } = process.env;
  const lists: { [half in Half]?: List } = {};
  const follow = async (half: Half, name: string, ready: () => void): Promise<void> => {
    const file = `${name}.json`;
    for (let [failures, isFirst, isWhole] = [0, true, false]; ; isFirst = false) {
      const headers = { ...(apiKey && { 'x-api-key': apiKey }), ...(!isFirst && !every && { prefer: 'wait=25' }) };
      const init: RequestInit = { headers, redirect: 'manual', signal: AbortSignal.timeout(60_000) };
      let seconds = 1;
      try {
        if (isFirst && existsSync(file)) {
          const { hashes, ...version } = JSON.parse(readFileSync(file, 'utf8'));
          lists[half] = verified({ ...version, hashes: hashesOf(Buffer.from(hashes, 'base64')) }, publicKeys);
        }
        const held = lists[half];
        const since = held === undefined || isWhole ? '' : `?since=${held.version}`;
        const response = await fetch(`${service}/v2/lists/${name}${since}`, init);
        seconds = waitOf(response.headers.get('retry-after'));
        const body = await bodyOf(response);
        if (!response.ok) throw new Error(`${response.status} ${body.slice(0, 1_000)}`);
        const { minimumWaitSeconds, ...update } = JSON.parse(body) as Update & { minimumWaitSeconds: number };
        // The next time, if this update does not fit. If it is older, the whole list is older too.
        isWhole = held === undefined || Date.parse(update.cutAt) >= Date.parse(held.cutAt);
        const list = (lists[half] = updated(update, name, held, publicKeys));
        [failures, isWhole] = [0, false];
        if (!response.headers.has('preference-applied')) seconds = Math.max(waitOf(every), waitOf(minimumWaitSeconds));
        writeFileSync(`${file}.new`, JSON.stringify({ ...list, hashes: bytesOf(list.hashes).toString('base64') }));
        renameSync(`${file}.new`, file); // after a kill, one version or the other
      } catch (error) {
        seconds = Math.max(seconds, Math.min(2 ** failures++, 300) * (0.5 + Math.random() / 2));
        console.error(`${name}: ${(error as Error).message}; trying again in ${seconds.toFixed(1)} s`);
      }
      ready();
      await pause(1_000 * seconds);
    }
  };
  const followed = Object.entries({ list: 'all-8b', ask: 'ask-8b' }) as [Half, string][];
  await Promise.all(followed.map(([half, name]) => new Promise<void>((ready) => void follow(half, name, ready))));
  for await (const line of createInterface({ input: process.stdin })) console.log(`${check(line, lists)} ${line}`);
  process.exit();
};

if (process.argv[1] && realpathSync(process.argv[1]) === import.meta.filename) await run(process.argv[2]!);
