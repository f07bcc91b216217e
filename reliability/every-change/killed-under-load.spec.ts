import { killedService } from '../faults/killed.js';
import { survives } from './survives.js';

survives(killedService);
