/** A response; a JSON body is parsed. */
export interface ApiResponse {
  readonly status: number;
  readonly headers: Headers;
  // oxlint-disable-next-line no-explicit-any
  readonly body: any;
}

export interface CallOptions {
  /** Default: POST with a body, otherwise GET. */
  readonly method?: string;
  /** An API key. */
  readonly key?: string;
  /** A body, sent as JSON. */
  readonly json?: unknown;
  /** A body, sent unchanged. */
  readonly body?: string | Uint8Array<ArrayBuffer>;
  /**
   * The response to this call must include the state of this earlier response; the call waits for it for up to 10 s.
   */
  readonly after?: ApiResponse | undefined;
  /** Names in lower case. The default `content-type` of a body is application/json. */
  readonly headers?: Readonly<Record<string, string>>;
}

const tokenOf = ({ status, headers }: ApiResponse): string => {
  const token = headers.get('consistency-token');
  if (token === null) throw new Error(`The response (status ${status}) has no Consistency-Token`);
  return token;
};

/** Sends one request to the service and reads the whole response. */
export const call = async (
  url: string,
  { method, key, json, body = json === undefined ? undefined : JSON.stringify(json), after, headers }: CallOptions = {},
): Promise<ApiResponse> => {
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
