import { fuzzing } from './fuzzing.js';
import { idempotency } from './idempotency.js';
import { keys } from './keys.js';
import { methods } from './methods.js';
import { recordsIsolation } from './records-isolation.js';
import { sqlInjection } from './sql-injection.js';
import { tenantIsolation } from './tenant-isolation.js';
import { withstands } from '../withstands.js';

await withstands([fuzzing, idempotency, keys, methods, recordsIsolation, sqlInjection, tenantIsolation]);
