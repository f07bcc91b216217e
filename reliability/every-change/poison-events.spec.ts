import { poisonEvents } from '../faults/poison-events.js';
import { describeScenario } from './describe-scenario.js';

describeScenario(poisonEvents);
