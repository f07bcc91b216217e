import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { getMetadataStorage, type ValidationError, validateSync } from 'class-validator';
import { Invalid } from '../../errors.js';

type Fields = Record<string, unknown>;
type Dto = new () => Fields;

/** What a DTO declares of one field. */
interface Field {
  readonly name: string;
  /** Whether the rules apply, according to `@IsOptional`. */
  readonly conditions: readonly ((dto: Fields, value: unknown) => boolean)[];
  /** Undefined: some rules can only be run by class-validator itself. */
  readonly rules: readonly ((dto: Fields, value: unknown) => boolean)[] | undefined;
}

/** What Nest reports for a parameter without a class of its own. */
const PLAIN: ReadonlySet<unknown> = new Set([String, Boolean, Number, Array, Object, undefined]);

const RULES = { stopAtFirstError: true, validationError: { target: false, value: false } } as const;

/** A DTO's rules, collected once; class-validator collects them for every request. */
const declaredFields = (dto: Dto): Field[] => {
  const storage = getMetadataStorage();
  const declared = storage.getTargetValidationMetadatas(dto, '', false, false);
  return [...new Set(declared.map(({ propertyName }) => propertyName))].map((name) => {
    const ofField = declared.filter(({ propertyName }) => propertyName === name);
    const conditions = ofField.filter(({ type }) => type === 'conditionalValidation');
    const others = ofField.filter((rule) => !conditions.includes(rule));
    const isPlain = others.every(({ type, each, validateIf }) => type === 'customValidation' && !each && !validateIf);
    const rules = others.flatMap(({ constraintCls, constraints }) =>
      storage.getTargetValidatorConstraints(constraintCls).map(({ instance }) => (object: Fields, value: unknown) => {
        const about = { value, constraints, targetName: dto.name, object, property: name };
        return instance.validate(value, about) === true;
      }),
    );
    return {
      name,
      conditions: conditions.map(({ constraints }) => constraints[0]),
      rules: isPlain ? rules : undefined,
    };
  });
};

/** Whether all rules hold. False may also mean that only class-validator itself can tell. */
const isGood = (dto: Fields, fields: readonly Field[]): boolean =>
  fields.every(({ name, conditions, rules }) => {
    const value = dto[name];
    if (!conditions.every((counts) => counts(dto, value))) return true;
    return rules !== undefined && rules.every((isKept) => isKept(dto, value));
  });

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
  private readonly declared = new Map<Dto, readonly Field[]>();

  transform(sent: unknown, { metatype, type }: ArgumentMetadata): unknown {
    if (type === 'custom' || PLAIN.has(metatype)) return sent;
    const dto = new (metatype as Dto)();
    const fields = this.fieldsOf(metatype as Dto);
    // Anything but an object fails as if all fields were missing.
    if (typeof sent === 'object' && sent !== null)
      for (const { name } of fields) if (Object.hasOwn(sent, name)) dto[name] = (sent as Fields)[name];
    if (fields.length > 0 && isGood(dto, fields)) return dto;
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
