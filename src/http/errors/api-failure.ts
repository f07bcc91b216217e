import { ApiResponse } from '@nestjs/swagger';
import { ErrorBody } from './error-body.dto.js';

/** Documents an error that a route may return. */
export const ApiFailure = (status: number, description: string): MethodDecorator & ClassDecorator =>
  ApiResponse({ status, description, type: ErrorBody });
