import 'reflect-metadata';
import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { Invalid } from '../errors.js';
import { declaredNames } from './body/validation.js';
import { sendError } from './errors/error-response.js';

type Type = abstract new (...args: never[]) => unknown;

/**
 * Returns the names of the query parameters that a method of a controller reads with `@Query()`, from its DTO. Decorators
 * of parameters are applied before decorators of the method, so a decorator of the method may call this function.
 */
export const queryParametersOf = (prototype: object, method: string | symbol): string[] => {
  const args = (Reflect.getMetadata(ROUTE_ARGS_METADATA, prototype.constructor, method) ?? {}) as Record<
    string,
    { readonly index: number; readonly data?: unknown }
  >;
  const types = (Reflect.getMetadata('design:paramtypes', prototype, method) ?? []) as Type[];
  return Object.entries(args)
    .filter(([name]) => name.startsWith(`${RouteParamtypes.QUERY}:`))
    .flatMap(([, { index, data }]) => (typeof data === 'string' ? [data] : declaredNames(types[index]!)));
};

/** The number of routes that a message names. */
const MAX_NAMED = 3;

const listed = (routes: readonly string[]): string => {
  const named = routes.slice(0, MAX_NAMED).join(', ');
  const more = routes.length - MAX_NAMED;
  if (more <= 0) return named;
  return `${named} and ${more} other ${more === 1 ? 'route' : 'routes'}`;
};

/**
 * The query parameters of all routes. A parameter that only other routes have is rejected, because a response that
 * ignores it would answer another question, such as the metrics of now instead of those of `knownAt`. A parameter that
 * no route has is ignored.
 */
export class ForeignParameters {
  /** The routes that have a parameter, by its name. */
  private readonly routes = new Map<string, string[]>();

  /** @param route the method and the path, for messages */
  add(route: string, parameters: readonly string[]): void {
    for (const name of parameters) this.routes.set(name, [...(this.routes.get(name) ?? []), route]);
  }

  /** Returns a handler that rejects the parameters of other routes, after the checks of the request and its body. */
  rejectBefore(handler: RouteHandlerMethod, parameters: readonly string[]): RouteHandlerMethod {
    const own = new Set(parameters);
    const { routes } = this;
    return function (request: FastifyRequest, reply: FastifyReply) {
      let foreign: string[] | undefined;
      for (const name in request.query as object)
        if (!own.has(name) && routes.has(name)) foreign = [...(foreign ?? []), name];
      if (foreign === undefined) return handler.call(this, request, reply);
      const issues = foreign.map((name) => `${name} is a parameter of ${listed(routes.get(name)!)}`);
      const names = foreign.join(', ');
      const message = `This route has no ${foreign.length === 1 ? 'parameter' : 'parameters'} ${names}: omit ${names}`;
      return sendError(new Invalid(message, issues), request, reply);
    };
  }
}
