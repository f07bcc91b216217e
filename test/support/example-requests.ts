import { type Media, readReference } from './contract.js';

/** The declared example of a request. */
export interface ExampleRequest {
  /** The operation. */
  readonly id: string;
  readonly method: string;
  /** The path with the required parameters. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** The example of the successful response, and its media type. */
  readonly type: string | undefined;
  readonly response: unknown;
}

const exampleIn = ({ example, examples = {} }: Media): unknown => example ?? Object.values(examples)[0]?.value;

/** The first media type of a body, and its example. */
const first = (content: Readonly<Record<string, Media>> = {}): [type?: string, example?: unknown] => {
  const [found] = Object.entries(content);
  return found === undefined ? [] : [found[0], exampleIn(found[1])];
};

/** The requests of all operations as the reference shows them. */
export const exampleRequests = (): ExampleRequest[] =>
  Object.entries(readReference().paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, parameters = [], requestBody, responses }]) => {
      const values = new Map(parameters.map(({ name, schema }) => [name, String(schema.examples?.[0])]));
      const query = parameters.filter((each) => each.in === 'query' && each.required);
      const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => values.get(name)!);
      const search = new URLSearchParams(
        query.map(({ name }): [string, string] => [name, values.get(name)!]),
      ).toString();
      const [contentType, body] = first(requestBody?.content);
      const success = Object.entries(responses).find(([status]) => status < '300')!;
      const [type, response] = first(success[1].content);
      return {
        id: operationId!,
        method: method.toUpperCase(),
        path: search === '' ? filled : `${filled}?${search}`,
        headers: { ...(contentType !== undefined && { 'content-type': contentType }) },
        body,
        type,
        response,
      };
    }),
  );
