// Sends a file of CloudEvents, one JSON object a line, to the ingestion endpoint: send.ts URL FILE, the key in THREAT_PROTECTION_API_KEY.
// FILE.sent holds the number of lines for which a response has arrived: the next run continues after them, also after a kill.
// A batch that was stored but not answered is sent again and counts as duplicates.
import { createReadStream, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';

const MAX_EVENTS = 1_000;
const MAX_BYTES = 8 * 1024 * 1024; // of one request, before it is compressed
const PATIENCE_MS = 300_000; // with one request

type Line = { number: number; bytes: Buffer; hasEnd: boolean };
type Findings = { index: number; issues: { message: string }[] }[];
type Answer = { accepted?: number; duplicates?: number; rejected?: Findings; warnings?: Findings; message?: string };

const [url = '', file = ''] = process.argv.slice(2);
const state = `${file}.sent`;
const endpoint = `${url.replace(/\/$/, '')}/v2/events`;
const headers = {
  'x-api-key': process.env['THREAT_PROTECTION_API_KEY'] ?? '',
  'content-type': 'application/cloudevents-batch+json',
  'content-encoding': 'gzip',
};
const total = { accepted: 0, duplicates: 0, rejected: 0, warning: 0 };

const report = ({ number }: Line, what: 'rejected' | 'warning', why: string): void => {
  total[what] += 1;
  process.stderr.write(`${file}:${number} ${what}: ${why}\n`);
};

const ask = async (body: Buffer): Promise<{ status: number; retryAfterMs: number; answer: Answer }> => {
  try {
    const signal = AbortSignal.timeout(30_000);
    const response = await fetch(endpoint, { method: 'POST', redirect: 'manual', headers, body, signal });
    const retryAfterMs = 1_000 * Number(response.headers.get('retry-after')) || 0;
    const answer = (await response.json().catch(() => null)) as Answer | null;
    return { status: response.status, retryAfterMs, answer: answer ?? { message: response.statusText } };
  } catch (error) {
    return { status: 0, retryAfterMs: 0, answer: { message: String((error as Error).cause ?? error) } };
  }
};

/** Resolves when each event of the batch has been answered for; throws if sending it again would not help. */
const send = async (batch: Line[]): Promise<void> => {
  const body = gzipSync(`[${batch.map(({ bytes }) => bytes.toString()).join(',')}]`);
  const end = performance.now() + PATIENCE_MS;
  for (let delay = 200; ; delay = Math.min(2 * delay, 5_000)) {
    const { status, retryAfterMs, answer } = await ask(body);
    const { accepted = 0, duplicates = 0, rejected, warnings = [], message } = answer;
    if ((status === 200 || status === 400) && rejected !== undefined) {
      if (accepted + duplicates + rejected.length !== batch.length)
        throw new Error(`${batch.length} events were sent, but the answer is ${JSON.stringify(answer)}`);
      total.accepted += accepted;
      total.duplicates += duplicates;
      for (const [what, findings] of [['rejected', rejected] as const, ['warning', warnings] as const])
        for (const { index, issues } of findings)
          report(batch[index]!, what, issues.map((is) => is.message).join('; '));
      return;
    }
    if (status === 400 || status === 413) {
      if (batch.length === 1) return report(batch[0]!, 'rejected', `${status} ${message}`);
      await send(batch.slice(0, batch.length >> 1));
      return send(batch.slice(batch.length >> 1));
    }
    const mayPass = [0, 200, 408, 429].includes(status) || status >= 500;
    const wait = Math.max(retryAfterMs, delay * (0.5 + Math.random() / 2));
    if (!mayPass || performance.now() + wait > end) throw new Error(`${endpoint}: ${status} ${message}`);
    process.stderr.write(`${status} ${message}; trying again in ${(wait / 1_000).toFixed(1)} s\n`);
    await pause(wait);
  }
};

/** Splits at line feeds alone: other separators, such as U+2028, may stand in a JSON text. */
async function* lines(): AsyncGenerator<Line> {
  let number = 1;
  let rest: Buffer[] = [];
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf('\n'); end !== -1; end = chunk.indexOf('\n', from)) {
      yield { number: number++, bytes: Buffer.concat([...rest, chunk.subarray(from, end)]), hasEnd: true };
      rest = [];
      from = end + 1;
    }
    if (from < chunk.length) rest.push(chunk.subarray(from));
  }
  if (rest.length > 0) yield { number, bytes: Buffer.concat(rest), hasEnd: false };
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const BYTE_ORDER_MARK = Buffer.from('\uFEFF');
const withoutMark = (bytes: Buffer): Buffer =>
  bytes.subarray(0, 3).equals(BYTE_ORDER_MARK) ? bytes.subarray(3) : bytes;
const isJson = (bytes: Buffer): boolean => {
  try {
    JSON.parse(utf8.decode(bytes));
    return true;
  } catch {
    return false;
  }
};

const sendFile = async (): Promise<void> => {
  const answered = existsSync(state) ? Number(readFileSync(state, 'utf8')) : 0;
  if (!Number.isSafeInteger(answered)) throw new Error(`${state} does not hold a number of lines`);
  let [batch, bytes, last]: [Line[], number, number] = [[], 1, 0];
  const flush = async (): Promise<void> => {
    if (batch.length > 0) await send(batch);
    writeFileSync(`${state}.new`, `${last}\n`);
    renameSync(`${state}.new`, state);
    [batch, bytes] = [[], 1];
  };
  for await (const read of lines()) {
    const line = read.number === 1 ? { ...read, bytes: withoutMark(read.bytes) } : read;
    const isAnswered = line.number <= answered || line.bytes.toString().trim() === '';
    if (!isAnswered && isJson(line.bytes)) {
      if (batch.length === MAX_EVENTS || bytes + line.bytes.length + 1 > MAX_BYTES) await flush();
      batch.push(line);
      bytes += line.bytes.length + 1; // with the bracket or comma after it
    } else if (!isAnswered && !line.hasEnd) {
      await flush();
      throw new Error(`${file}:${line.number} is not complete; send again when it is`);
    } else if (!isAnswered) report(line, 'rejected', 'not JSON in UTF-8');
    last = line.number;
  }
  if (last < answered) throw new Error(`${state} says ${answered} lines, but ${file} has ${last}: is it another file?`);
  await flush();
};

try {
  await sendFile();
} catch (error) {
  process.stderr.write(`Stopped: ${(error as Error).message}\n`);
  process.exitCode = 1;
}
process.stdout.write(`${JSON.stringify(total)}\n`);
if (total.rejected > 0) process.exitCode = 1;
