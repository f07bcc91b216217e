import { killedPostgres } from '../faults/database-unavailable.js';
import { describeScenario } from './describe-scenario.js';

describeScenario(killedPostgres);
