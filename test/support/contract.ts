import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** A body of one media type. */
export interface Media {
  readonly schema: object;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

/** Part of the reference, with what is asked of it here. */
export interface Declared {
  readonly description?: string;
  readonly headers?: Readonly<Record<string, { readonly $ref?: string; readonly required?: boolean }>>;
  readonly content?: Readonly<Record<string, Media>>;
}

export interface DeclaredOperation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly tags?: readonly string[];
  readonly security?: readonly object[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly description?: string;
    readonly schema: { readonly examples?: readonly unknown[] };
  }[];
  readonly responses: Readonly<Record<string, Declared & { readonly $ref?: string }>>;
}

export interface Reference {
  readonly openapi: string;
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, DeclaredOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly properties?: object; readonly required?: readonly string[] }>>;
    readonly responses: Readonly<Record<string, Declared>>;
    readonly headers: Readonly<Record<string, { readonly required?: boolean }>>;
    readonly securitySchemes: object;
  };
}

/** The reference of the build; see global-setup. */
export const readReference = (): Reference =>
  JSON.parse(readFileSync(process.env['OPENAPI_DOCUMENT']!, 'utf8')) as Reference;

/** Headers that every server sends, or that say how an answer travels. */
export const UNDECLARED = new Set([
  'allow',
  'cache-control',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'transfer-encoding',
  'vary',
  'x-content-type-options',
]);

/** What composes a schema of others, whose properties it does not see unless it is asked to evaluate them. */
const COMPOSING = ['allOf', 'anyOf', 'oneOf', '$ref'];

/** A client may be given more than is declared, by a later version; our own tests may not. */
const closed = (part: unknown, isOpen = false): unknown => {
  if (Array.isArray(part)) return part.map((each) => closed(each, isOpen));
  if (typeof part !== 'object' || part === null) return part;
  const schema = part as Record<string, unknown>;
  const copy = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      key === 'example' || key === 'examples' ? value : closed(value, key === 'allOf'),
    ]),
  );
  if (typeof schema['properties'] !== 'object' || 'additionalProperties' in schema || isOpen) return copy;
  // What is evaluated takes twice as long to compile.
  const others = COMPOSING.some((keyword) => keyword in schema) ? 'unevaluatedProperties' : 'additionalProperties';
  return { [others]: false, ...copy };
};

const pointer = (...parts: readonly string[]): string =>
  parts.map((part) => `/${encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('');

export interface Answered {
  readonly method: string;
  /** As the router has it: `/v2/organization/asset-groups/:id` */
  readonly route: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** Says what an answer has that the reference does not declare, or lacks that it declares. */
export class Contract {
  readonly reference = readReference();
  // Each spec compiles what it is answered, for a few answers each: not worth optimizing.
  private readonly ajv = new Ajv2020({ strict: false, validateSchema: false, code: { optimize: false } });
  private readonly validators = new Map<string, ValidateFunction>();
  private readonly operations = new Map<
    string,
    { readonly at: readonly string[]; readonly operation: DeclaredOperation }
  >();

  constructor() {
    addFormats.default(this.ajv);
    this.ajv.addSchema({ $id: 'reference', ...(closed(this.reference) as object) });
    for (const [path, methods] of Object.entries(this.reference.paths)) {
      const route = path.replaceAll(/\{(\w+)\}/g, ':$1');
      for (const [method, operation] of Object.entries(methods))
        this.operations.set(`${method.toUpperCase()} ${route}`, { at: ['paths', path, method], operation });
    }
  }

  /** @returns why the answer is none that is declared; undefined where it is, or where its route is in no reference */
  faultOf({ method, route, status, headers, body }: Answered): string | undefined {
    // A table that was asked for by `Accept` may be declared by a route that answers nothing else.
    const isTable = String(headers['content-type']).startsWith('text/csv');
    const found =
      (isTable ? this.operations.get(`${method} ${route}.csv`) : undefined) ??
      this.operations.get(`${method} ${route}`);
    if (found === undefined) return undefined;
    const named = `${method} ${route} answered ${status}`;
    const own = found.operation.responses[status];
    if (own === undefined) return `${named}, which it does not declare`;
    const shared = own.$ref?.split('/').at(-1);
    const response = shared === undefined ? own : this.reference.components.responses[shared]!;
    const at = shared === undefined ? [...found.at, 'responses', String(status)] : ['components', 'responses', shared];
    const fault =
      this.headerFault(response, headers) ?? this.bodyFault(at, response, String(headers['content-type']), body);
    return fault && `${named} ${fault}`;
  }

  private headerFault({ headers: declared = {} }: Declared, headers: Answered['headers']): string | undefined {
    const names = new Map(Object.entries(declared).map(([name, header]) => [name.toLowerCase(), header]));
    const extra = Object.keys(headers).find((name) => !UNDECLARED.has(name) && !names.has(name));
    if (extra !== undefined) return `with the header ${extra}, which it does not declare`;
    const isRequired = (name: string, { $ref, required }: { $ref?: string; required?: boolean }): boolean =>
      required ?? ($ref !== undefined && this.reference.components.headers[name]?.required === true);
    const missing = Object.entries(declared).find(
      ([name, header]) => isRequired(name, header) && headers[name.toLowerCase()] === undefined,
    );
    return missing && `without the header ${missing[0]}`;
  }

  private bodyFault(at: readonly string[], { content = {} }: Declared, type: string, body: string): string | undefined {
    if (Object.keys(content).length === 0 && body === '') return undefined;
    const media = type.split(';')[0]!;
    const schema = content[media]?.schema;
    if (schema === undefined) return `as ${media}, which it does not declare`;
    const where = `reference#${pointer(...at, 'content', media, 'schema')}`;
    const validate = this.validators.get(where) ?? this.ajv.compile({ $ref: where });
    this.validators.set(where, validate);
    const value: unknown = media.endsWith('json') ? JSON.parse(body) : body;
    if (validate(value)) return undefined;
    const { instancePath, message, params } = validate.errors![0]!;
    return `with ${instancePath || 'a body'} that ${message} ${JSON.stringify(params)}: ${body.slice(0, 500)}`;
  }
}

/** More would only repeat them. */
const MAX_FAULTS = 10;

/** Made once for each spec. */
let contract: Contract | undefined;

const faultOf = (request: FastifyRequest, reply: FastifyReply, payload: unknown): string | undefined => {
  const { method } = request;
  const route = request.routeOptions.url;
  if (route === undefined || method === 'HEAD') return undefined;
  const headers = reply.getHeaders();
  // A stream is read once, by the client.
  if (typeof (payload as { pipe?: unknown } | null)?.pipe === 'function') return undefined;
  const bytes = Buffer.isBuffer(payload) ? payload : Buffer.from(typeof payload === 'string' ? payload : '');
  const body = (headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString();
  contract ??= new Contract();
  return contract.faultOf({ method, route, status: reply.statusCode, headers, body });
};

/**
 * Holds every answer of an application against the reference.
 * @returns what was found, filled while it answers
 */
export const holdToContract = (instance: FastifyInstance): readonly string[] => {
  const faults: string[] = [];
  instance.addHook('onSend', (request: FastifyRequest, reply: FastifyReply, payload: unknown, done) => {
    const fault = faults.length < MAX_FAULTS ? faultOf(request, reply, payload) : undefined;
    if (fault !== undefined) faults.push(fault);
    // It would be held for as long as the client takes to read the answer, and counted nowhere.
    if (request.body !== undefined) faults.push(`${request.method} ${request.url} keeps its body behind its answer`);
    done();
  });
  return faults;
};
