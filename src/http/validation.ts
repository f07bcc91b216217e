import { ValidationPipe, type ValidationError } from '@nestjs/common';
import { Invalid } from '../errors.js';

const messagesOf = (errors: readonly ValidationError[]): string[] =>
  errors.flatMap((error) => [...Object.values(error.constraints ?? {}), ...messagesOf(error.children ?? [])]);

/** Checks what a DTO declares. Unknown fields are dropped, nothing is converted, the decorators' texts are the answer. */
export const createValidationPipe = (): ValidationPipe =>
  new ValidationPipe({
    whitelist: true,
    transform: true,
    stopAtFirstError: true,
    validationError: { target: false, value: false },
    exceptionFactory: (errors) => {
      const messages = messagesOf(errors);
      return new Invalid(messages[0] ?? 'The request is not valid', messages);
    },
  });
