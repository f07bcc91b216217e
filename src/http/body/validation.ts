import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { getMetadataStorage, type ValidationError, ValidationTypes, validateSync } from 'class-validator';
import { Invalid } from '../../errors.js';

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
