import { concurrentWriters } from '../faults/concurrent-writers.js';
import { describeScenario } from './describe-scenario.js';

describeScenario(concurrentWriters);
