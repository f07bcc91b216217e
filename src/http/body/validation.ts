import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { getMetadataStorage, type ValidationError, validateSync } from 'class-validator';
import { Invalid } from '../../errors.js';

type Fields = Record<string, unknown>;
type Dto = new () => Fields;

/** What Nest reports for a parameter without a class of its own. */
const PLAIN: ReadonlySet<unknown> = new Set([String, Boolean, Number, Array, Object, undefined]);

const RULES = { stopAtFirstError: true, validationError: { target: false, value: false } } as const;

/** The names of the fields that a DTO declares rules for. */
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
 * Validates a DTO with class-validator's rules; their messages become the answer. Nothing is converted.
 *
 * Only declared fields are copied. Nest's ValidationPipe first transforms everything that was sent, unknown fields
 * included, recursively: a few kilobytes of brackets overflow the stack, and megabytes block the process for minutes.
 * DTOs are therefore flat: a declared field that holds objects validates them itself.
 */
@Injectable()
export class DtoValidation implements PipeTransform {
  private readonly declared = new Map<Dto, readonly string[]>();

  transform(sent: unknown, { metatype, type }: ArgumentMetadata): unknown {
    if (type === 'custom' || PLAIN.has(metatype)) return sent;
    const dto = new (metatype as Dto)();
    const fields = this.fieldsOf(metatype as Dto);
    // Anything but an object fails as if all fields were missing.
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
