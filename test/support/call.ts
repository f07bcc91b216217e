/** An answer, its body parsed where it is JSON. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // oxlint-disable-next-line no-explicit-any
  readonly body: any;
}

export interface CallOptions {
  /** Default: POST where there is a body, else GET. */
  readonly method?: string;
  /** An API key. */
  readonly key?: string;
  /** A body, sent as JSON. */
  readonly json?: unknown;
  /** A body, sent as it is. */
  readonly body?: string | Uint8Array<ArrayBuffer>;
  /** An answer whose state this one has to include. It waits for that as long as the service allows. */
  readonly after?: Answer | undefined;
  /** In lower case; a body's type is application/json where they have none. */
  readonly headers?: Readonly<Record<string, string>>;
}

const tokenOf = ({ status, headers }: Answer): string => {
  const token = headers.get('consistency-token');
  if (token === null) throw new Error(`The answer has no Consistency-Token: ${status}`);
  return token;
};

/** Makes one call of the service and reads its answer to the end. */
export const call = async (
  url: string,
  { method, key, json, body = json === undefined ? undefined : JSON.stringify(json), after, headers }: CallOptions = {},
): Promise<Answer> => {
  const response = await fetch(url, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      ...(key && { 'x-api-key': key }),
      ...(after && { 'consistency-token': tokenOf(after), prefer: 'wait=10' }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    body,
  });
  const isJson = /[/+]json\b/.test(response.headers.get('content-type') ?? '');
  return {
    status: response.status,
    headers: response.headers,
    body: await (isJson ? response.json() : response.text()),
  };
};
