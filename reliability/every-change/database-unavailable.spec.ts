import { killedPostgres } from '../faults/database-away.js';
import { survives } from './survives.js';

survives(killedPostgres);
