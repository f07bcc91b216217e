import { keys } from '../attacks/responses/keys.js';
import { describeScenario } from './describe-scenario.js';

describeScenario(keys);
