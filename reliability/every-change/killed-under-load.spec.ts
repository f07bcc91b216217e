import { killedService } from '../faults/killed-under-load.js';
import { describeScenario } from './describe-scenario.js';

describeScenario(killedService);
