import { ApiResponse } from '@nestjs/swagger';
import { ErrorBody } from './error-body.dto.js';

/** Declares an error that a route answers, with the flat body. */
export const ApiFailure = (status: number, description: string): MethodDecorator & ClassDecorator =>
  ApiResponse({ status, description, type: ErrorBody });
