import { killedMigration } from '../faults/migrations.js';
import { survives } from './survives.js';

survives(killedMigration);
