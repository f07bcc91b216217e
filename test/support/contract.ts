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

/** The parts of the API reference that tests read. */
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

/** Reads the API reference of the build, which `global-setup.ts` writes. */
export const readReference = (): Reference =>
  JSON.parse(readFileSync(process.env['OPENAPI_DOCUMENT']!, 'utf8')) as Reference;

/** Headers that every HTTP server sends, and that the reference therefore does not declare. */
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

/** Keywords that compose a schema of others. `additionalProperties` ignores the properties of those schemas. */
const COMPOSING = ['allOf', 'anyOf', 'oneOf', '$ref'];

/**
 * Forbids undeclared properties: a later version may add properties, but the version under test must declare them all.
 */
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
  // `unevaluatedProperties` takes twice as long to compile.
  const forbidding = COMPOSING.some((keyword) => keyword in schema) ? 'unevaluatedProperties' : 'additionalProperties';
  return { [forbidding]: false, ...copy };
};

const pointer = (...parts: readonly string[]): string =>
  parts.map((part) => `/${encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('');

export interface Answered {
  readonly method: string;
  /** Returns the route as the router writes it: `/v2/organization/asset-groups/:id` */
  readonly route: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** Compares responses with the API reference. */
export class Contract {
  readonly reference = readReference();
  // Each validator is used for a few responses only, so optimizing its code is not worth the time.
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

  /** Returns how a response differs from its declaration; undefined if it matches, or if no reference has its route. */
  faultOf({ method, route, status, headers, body }: Answered): string | undefined {
    // CSV that was requested with `Accept` may be declared by the separate `.csv` route.
    const isTable = String(headers['content-type']).startsWith('text/csv');
    const found =
      (isTable ? this.operations.get(`${method} ${route}.csv`) : undefined) ??
      this.operations.get(`${method} ${route}`);
    if (found === undefined) return undefined;
    const named = `${method} ${route} answered ${status}`;
    const declared = found.operation.responses[status];
    if (declared === undefined) return `${named}, which it does not declare`;
    const shared = declared.$ref?.split('/').at(-1);
    const response = shared === undefined ? declared : this.reference.components.responses[shared]!;
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

/** Further faults would only repeat the first ones. */
const MAX_FAULTS = 10;

/** Created once per spec file. */
let contract: Contract | undefined;

const faultOf = (request: FastifyRequest, reply: FastifyReply, payload: unknown): string | undefined => {
  const { method } = request;
  const route = request.routeOptions.url;
  if (route === undefined || method === 'HEAD') return undefined;
  const headers = reply.getHeaders();
  // A stream can be read only once, by the client.
  if (typeof (payload as { pipe?: unknown } | null)?.pipe === 'function') return undefined;
  const bytes = Buffer.isBuffer(payload) ? payload : Buffer.from(typeof payload === 'string' ? payload : '');
  const body = (headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString();
  contract ??= new Contract();
  return contract.faultOf({ method, route, status: reply.statusCode, headers, body });
};

/**
 * Compares every response of an application with the API reference.
 * @returns the differences, which are added while the application responds
 */
export const validateResponses = (instance: FastifyInstance): readonly string[] => {
  const faults: string[] = [];
  instance.addHook('onSend', (request: FastifyRequest, reply: FastifyReply, payload: unknown, done) => {
    const fault = faults.length < MAX_FAULTS ? faultOf(request, reply, payload) : undefined;
    if (fault !== undefined) faults.push(fault);
    // The body would stay in memory until the client has read the response, and no limit would count it.
    if (request.body !== undefined) faults.push(`${request.method} ${request.url} keeps its body behind its answer`);
    done();
  });
  return faults;
};
