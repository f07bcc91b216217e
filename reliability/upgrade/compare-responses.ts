import type { ReadRequest } from './random-requests.js';

/** The response to a request: of the first page, or of the pages after it. */
export interface Answer {
  readonly request: ReadRequest;
  readonly status: number;
  readonly headers: Readonly<Record<string, string | null>>;
  readonly body: string;
}

/** A difference that this version makes by decision. */
interface Rule {
  readonly reason: string;
  readonly operations: RegExp;
  readonly pattern: RegExp;
  readonly replacement: string;
}

/** A cursor differs in each response, also of one version. The pages after it are compared. */
const CURSOR = /"(nextCursor|next)":"[^"]+"/;

const RULES: readonly Rule[] = [
  {
    reason: '2.3 says how long the result of a check may be kept',
    operations: /^checkAssets?$/,
    pattern: /,"cacheSeconds":\d+/g,
    replacement: '',
  },
  {
    reason: 'The table of verdicts of 2.3 has the last column `expiresAt`, which is empty for events of 2.2.0',
    operations: /^getVerdictTable$/,
    pattern: /,(expiresAt)?\r\n/g,
    replacement: '\r\n',
  },
  {
    reason: 'In TAXII, 2.3 names what an asset stands for: a PAGE whose content is a host is that host',
    operations: /^getTaxiiObjects?$/,
    pattern: /"\[url:value = 'https:\/\/([a-z0-9.-]+)'\]"/g,
    replacement: `"[domain-name:value = '$1']"`,
  },
  {
    reason: '2.3 also limits the contents of the table of restated records',
    operations: /^getRestatedRecordsTable$/,
    pattern: /(A table has at most 10000 rows) and 4 MiB of contents/,
    replacement: '$1',
  },
];

/** The other headers say when and by which connection a response was made. */
const HEADERS = [
  'content-type',
  'etag',
  'vary',
  'cache-control',
  'known-at',
  'location',
  'x-taxii-date-added-first',
  'x-taxii-date-added-last',
];
const MAX_PAGES = 3;

const nextOf = ({ operation, path }: ReadRequest, body: string): string | undefined => {
  if (operation === 'getFeed') {
    const id = [...body.matchAll(/"id":"([^"]+)"/g)].at(-1)?.[1];
    return id && `${path}&lastEventId=${encodeURIComponent(id)}`;
  }
  const [, name, cursor] = /"(nextCursor|next)":"([^"]+)"/.exec(body) ?? [];
  if (cursor === undefined) return undefined;
  const separator = path.includes('?') ? '&' : '?';
  return name === 'next'
    ? `${path.split('?')[0]}?next=${encodeURIComponent(cursor)}`
    : `${path}${separator}cursor=${encodeURIComponent(cursor)}`;
};

/** Sends a request, and continues with up to two further pages. */
const askOne = async (url: string, key: string, request: ReadRequest): Promise<Answer[]> => {
  const answers: Answer[] = [];
  for (let path: string | undefined = request.path; path !== undefined && answers.length < MAX_PAGES;) {
    const response = await fetch(`${url}${path}`, {
      method: request.json ? 'POST' : 'GET',
      headers: {
        'x-api-key': key,
        ...(request.accept && { accept: request.accept }),
        ...(request.json && { 'content-type': 'application/json' }),
      },
      body: request.json && JSON.stringify(request.json),
    });
    const body = await response.text();
    const headers = Object.fromEntries(HEADERS.map((name) => [name, response.headers.get(name)]));
    answers.push({ request, status: response.status, headers, body });
    path = response.status === 200 ? nextOf(request, body) : undefined;
  }
  return answers;
};

/**
 * Sends all requests, those of each key one after the other.
 * @param keys by organization; `undefined`: the key for all upstream events
 * @returns the pages of each request, in the order of the requests
 */
export const askAll = async (
  url: string,
  keys: ReadonlyMap<string | undefined, string>,
  requests: readonly ReadRequest[],
): Promise<Answer[][]> => {
  const answers: Answer[][] = [];
  const askAs = async (organization: string | undefined, key: string): Promise<void> => {
    for (const [index, request] of requests.entries())
      if (request.organization === organization) answers[index] = await askOne(url, key, request);
  };
  await Promise.all([...keys].map(([organization, key]) => askAs(organization, key)));
  return answers;
};

const withoutCursor = ({ body }: Answer): string => body.replace(CURSOR, '"$1":""');

/** A cursor of 2.3 is longer, so more pages are long enough to be compressed. */
const comparedHeader = ({ headers, body }: Answer, name: string): string | null | undefined =>
  name === 'vary' && CURSOR.test(body) ? headers[name]?.replace(', Accept-Encoding', '') : headers[name];

/** Returns what is compared of a body. */
const comparedBody = (answer: Answer): string =>
  RULES.filter(({ operations }) => operations.test(answer.request.operation)).reduce(
    (text, { pattern, replacement }) => text.replace(pattern, replacement),
    withoutCursor(answer),
  );

/** The text around the first difference. */
const around = (before: string, after: string): string => {
  let at = 0;
  while (at < before.length && before[at] === after[at]) at += 1;
  const [from, to] = [Math.max(0, at - 80), at + 120];
  return `at ${at}: ${before.slice(from, to)}\n  now: ${after.slice(from, to)}`;
};

/** Describes the first difference of two pages; undefined if they are the same. */
const differenceOf = (one: Answer | undefined, other: Answer | undefined): string | undefined => {
  if (one === undefined || other === undefined) return one === other ? undefined : 'one of them has more pages';
  // An entity tag is of the content, so it differs if a rule has removed a difference.
  const names = withoutCursor(one) === withoutCursor(other) ? HEADERS : HEADERS.filter((name) => name !== 'etag');
  const parts = (answer: Answer): string[] => [
    comparedBody(answer),
    ...names.map((name) => `${name}: ${comparedHeader(answer, name)}`),
    `status ${answer.status}`,
  ];
  const [was, is] = [parts(one), parts(other)];
  const at = was.findIndex((part, n) => part !== is[n]);
  return at === -1 ? undefined : around(was[at]!, is[at]!);
};

/**
 * Compares the pages of each request.
 * @returns a text for each page that differs
 */
export const differencesOf = (before: readonly Answer[][], after: readonly Answer[][]): string[] =>
  before.flatMap((pages, index) =>
    Array.from({ length: MAX_PAGES }, (_, page) => page).flatMap((page) => {
      const found = differenceOf(pages[page], after[index]?.[page]);
      const { operation, path, organization, json } = pages[0]!.request;
      return found === undefined
        ? []
        : [`${operation} ${organization} ${path} ${JSON.stringify(json) ?? ''}\n  ${found}`];
    }),
  );
