import { ValidateBy, getMetadataStorage, type ValidationError, ValidationTypes, validateSync } from 'class-validator';
import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { hash } from 'node:crypto';
import { Invalid, Unprocessable } from '../../errors.js';
import { IDEMPOTENCY_TTL_MS, type IdempotentRequest } from '../../events/event.js';

/**
 * Validates a field with a function.
 * @param issueOf returns the error message for a value; undefined if the value is valid
 */
export const Checked = (issueOf: (value: unknown) => string | undefined): PropertyDecorator =>
  ValidateBy({
    name: 'checked',
    validator: {
      validate: (value) => issueOf(value) === undefined,
      defaultMessage: (wrong) => issueOf(wrong?.value) ?? '',
    },
  });

type Fields = Record<string, unknown>;
type Dto = new () => Fields;

/** The types that Nest reports for parameters that are not DTOs. */
const NOT_DTOS: ReadonlySet<unknown> = new Set([String, Boolean, Number, Array, Object, undefined]);

const CONDITION = ValidationTypes.CONDITIONAL_VALIDATION;
const RULES = { stopAtFirstError: true, validationError: { target: false, value: false } } as const;

/** A condition on the value of a field. */
type Test = (dto: Fields, value: unknown) => boolean;

/** A field for which a DTO declares rules. */
interface Field {
  readonly name: string;
  /** The rules apply only if all these conditions hold (`@IsOptional`). */
  readonly conditions: readonly Test[];
  readonly rules: readonly Test[];
}

/** Reads the declarations of a DTO once. class-validator collects them again for each object that it validates. */
const declaredFields = (dto: Dto): Field[] => {
  const storage = getMetadataStorage();
  const declared = storage.getTargetValidationMetadatas(dto, '', false, false);
  return Object.entries(storage.groupByPropertyName(declared)).map(([name, metadata]) => ({
    name,
    conditions: metadata.flatMap(({ type, constraints }) => (type === CONDITION ? [constraints[0] as Test] : [])),
    rules: metadata.flatMap(({ type, each, validateIf, constraintCls, constraints }): Test[] => {
      if (type === CONDITION) return [];
      // class-validator itself must check all other rules.
      if (type !== ValidationTypes.CUSTOM_VALIDATION || each || validateIf) return [() => false];
      return storage.getTargetValidatorConstraints(constraintCls).map(({ instance }) => (object, value) => {
        const context = { value, constraints, object, property: name, targetName: dto.name };
        return instance.validate(value, context) === true;
      });
    }),
  }));
};

/** Returns the names of the fields for which a DTO declares rules; none for a type that is no DTO. */
export const declaredNames = (type: unknown): string[] =>
  NOT_DTOS.has(type) ? [] : declaredFields(type as Dto).map(({ name }) => name);

/** Whether a DTO is valid. If not, class-validator decides and provides the messages. */
const isValid = (dto: Fields, fields: readonly Field[]): boolean =>
  fields.every(({ name, conditions, rules }) => {
    const value = dto[name];
    return conditions.some((applies) => !applies(dto, value)) || rules.every((holds) => holds(dto, value));
  });

const messagesOf = (errors: readonly ValidationError[]): string[] =>
  errors.flatMap((error) => [...Object.values(error.constraints ?? {}), ...messagesOf(error.children ?? [])]);

/**
 * Validates a DTO with the rules of class-validator, and rejects the request with their messages. Values are not
 * converted.
 *
 * Only declared fields are copied. Nest's ValidationPipe would first transform the whole body recursively, including
 * unknown fields. A few kilobytes of brackets would then overflow the stack, and megabytes would block the process for
 * minutes. DTOs are therefore flat: a declared field that holds objects has a rule that validates the objects.
 */
@Injectable()
export class DtoValidation implements PipeTransform {
  private readonly declared = new Map<Dto, readonly Field[]>();

  transform(sent: unknown, { metatype, type }: ArgumentMetadata): unknown {
    if (type === 'custom' || NOT_DTOS.has(metatype)) return sent;
    const dto = new (metatype as Dto)();
    const fields = this.fieldsOf(metatype as Dto);
    // A body that is not an object is rejected as if all fields were missing.
    if (typeof sent === 'object' && sent !== null)
      for (const { name } of fields) if (Object.hasOwn(sent, name)) dto[name] = (sent as Fields)[name];
    if (fields.length > 0 && isValid(dto, fields)) return dto;
    const messages = messagesOf(validateSync(dto, RULES));
    if (messages.length > 0) throw new Invalid(messages[0]!, messages);
    return dto;
  }

  private fieldsOf(dto: Dto): readonly Field[] {
    let fields = this.declared.get(dto);
    if (fields === undefined) {
      fields = declaredFields(dto);
      this.declared.set(dto, fields);
    }
    return fields;
  }
}

const PRINTABLE = /^[\x20-\x7e]{1,255}$/;

/**
 * Returns what identifies a request that the client may repeat.
 * @param key the header `Idempotency-Key`; undefined if the client sent no key
 * @param body the parsed content of the body, so that whitespace, unknown fields and the order of fields are ignored
 * @returns undefined without a key
 * @throws Invalid if the key is not 1 to 255 printable characters
 */
export const idempotentRequest = (key: string | undefined, body: string): IdempotentRequest | undefined => {
  if (key === undefined) return undefined;
  if (!PRINTABLE.test(key)) throw new Invalid('Idempotency-Key must be 1 to 255 printable characters');
  return { idempotencyKeyHash: hash('sha256', key), bodyHash: hash('sha256', body) };
};

/**
 * Finds the first response to a request with the same `Idempotency-Key`.
 * @param earlier what requests with this key led to
 * @param answeredAt returns the instant of the response, in ms
 * @returns undefined for a request that is not repeated; an error if the first request had another body
 */
export const firstResponse = <First extends { readonly bodyHash?: string | undefined }>(
  request: IdempotentRequest | undefined,
  earlier: readonly (First | undefined)[],
  answeredAt: (first: First) => number,
  now: number,
): First | Unprocessable | undefined => {
  if (request === undefined) return undefined;
  const first = earlier.find((one) => one !== undefined && now - answeredAt(one) < IDEMPOTENCY_TTL_MS);
  return first === undefined || first.bodyHash === request.bodyHash
    ? first
    : new Unprocessable('This Idempotency-Key was used with another body');
};
