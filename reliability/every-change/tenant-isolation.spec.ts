import { tenantIsolation } from '../attacks/answers/tenant-isolation.js';
import { survives } from './survives.js';

survives(tenantIsolation);
