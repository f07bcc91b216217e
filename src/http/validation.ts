import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { getMetadataStorage, type ValidationError, validateSync } from 'class-validator';
import { Invalid } from '../errors.js';

type Dto = new () => Record<string, unknown>;

/** What Nest says of a parameter that has no class of its own. */
const PLAIN: ReadonlySet<unknown> = new Set([String, Boolean, Number, Array, Object, undefined]);

const RULES = { stopAtFirstError: true, validationError: { target: false, value: false } } as const;

const messagesOf = (errors: readonly ValidationError[]): string[] =>
  errors.flatMap((error) => [...Object.values(error.constraints ?? {}), ...messagesOf(error.children ?? [])]);

/**
 * Checks what a DTO declares, with class-validator; the decorators' texts are the answer. Nothing is converted.
 *
 * Only declared fields are copied, as they are. Nest's own ValidationPipe first transforms everything that was sent,
 * unknown fields too, by recursion: a few kilobytes of brackets end in a stack overflow, and megabytes of them keep the
 * process busy for minutes. DTOs are therefore flat: a declared field that holds objects checks them itself.
 */
@Injectable()
export class DtoValidation implements PipeTransform {
  private readonly declared = new Map<Dto, readonly string[]>();

  transform(sent: unknown, { metatype, type }: ArgumentMetadata): unknown {
    if (type === 'custom' || PLAIN.has(metatype)) return sent;
    const dto = new (metatype as Dto)();
    // What is no object has none of the fields, and is told so.
    if (typeof sent === 'object' && sent !== null)
      for (const field of this.fieldsOf(metatype as Dto))
        if (Object.hasOwn(sent, field)) dto[field] = (sent as Record<string, unknown>)[field];
    const messages = messagesOf(validateSync(dto, RULES));
    if (messages.length > 0) throw new Invalid(messages[0]!, messages);
    return dto;
  }

  private fieldsOf(metatype: Dto): readonly string[] {
    let fields = this.declared.get(metatype);
    if (fields === undefined) {
      const rules = getMetadataStorage().getTargetValidationMetadatas(metatype, '', false, false);
      fields = [...new Set(rules.map(({ propertyName }) => propertyName))];
      this.declared.set(metatype, fields);
    }
    return fields;
  }
}
