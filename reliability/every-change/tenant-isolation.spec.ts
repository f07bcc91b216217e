import { tenantIsolation } from '../attacks/responses/tenant-isolation.js';
import { describeScenario } from './describe-scenario.js';

describeScenario(tenantIsolation);
