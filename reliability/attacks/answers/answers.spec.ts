import { idempotency } from './idempotency.js';
import { methods } from './methods.js';
import { sqlInjection } from './sql-injection.js';
import { withstands } from '../withstands.js';

await withstands([idempotency, methods, sqlInjection]);
