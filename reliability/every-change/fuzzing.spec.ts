import { fuzzing } from '../attacks/responses/fuzzing.js';
import { describeScenario } from './describe-scenario.js';

describeScenario(fuzzing);
