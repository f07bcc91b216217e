import { concurrentWriters } from '../faults/concurrent-writers.js';
import { survives } from './survives.js';

survives(concurrentWriters);
