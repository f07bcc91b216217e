import { killedMigration } from '../faults/migrations.js';
import { describeScenario } from './describe-scenario.js';

describeScenario(killedMigration);
