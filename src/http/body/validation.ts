import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { getMetadataStorage, type ValidationError, validateSync } from 'class-validator';
import { Invalid } from '../../errors.js';

type Fields = Record<string, unknown>;
type Dto = new () => Fields;

/** The types that Nest reports for parameters that are not DTOs. */
const NOT_DTOS: ReadonlySet<unknown> = new Set([String, Boolean, Number, Array, Object, undefined]);

const RULES = { stopAtFirstError: true, validationError: { target: false, value: false } } as const;

/** Returns the names of the fields for which a DTO declares rules. */
const declaredFields = (dto: Dto): string[] => [
  ...new Set(
    getMetadataStorage()
      .getTargetValidationMetadatas(dto, '', false, false)
      .map(({ propertyName }) => propertyName),
  ),
];

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
  private readonly declared = new Map<Dto, readonly string[]>();

  transform(sent: unknown, { metatype, type }: ArgumentMetadata): unknown {
    if (type === 'custom' || NOT_DTOS.has(metatype)) return sent;
    const dto = new (metatype as Dto)();
    const fields = this.fieldsOf(metatype as Dto);
    // A body that is not an object is rejected as if all fields were missing.
    if (typeof sent === 'object' && sent !== null)
      for (const name of fields) if (Object.hasOwn(sent, name)) dto[name] = (sent as Fields)[name];
    const messages = messagesOf(validateSync(dto, RULES));
    if (messages.length > 0) throw new Invalid(messages[0]!, messages);
    return dto;
  }

  private fieldsOf(dto: Dto): readonly string[] {
    let fields = this.declared.get(dto);
    if (fields === undefined) {
      fields = declaredFields(dto);
      this.declared.set(dto, fields);
    }
    return fields;
  }
}
