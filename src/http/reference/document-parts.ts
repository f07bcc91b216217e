import type { OpenAPIObject } from '@nestjs/swagger';

export type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;
export type Response = Exclude<NonNullable<Operation['responses'][string]>, { $ref: string }>;
export type Parameter = NonNullable<Operation['parameters']>[number];

export const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

/** Every operation of a document, with its method. */
export const operationsOf = ({ paths }: OpenAPIObject): { method: string; path: string; operation: Operation }[] =>
  Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => (item[method] === undefined ? [] : [{ method, path, operation: item[method] }])),
  );
