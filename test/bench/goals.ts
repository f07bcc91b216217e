import { g3a } from './g3a.js';
import { g3b } from './g3b.js';
import { g4a } from './g4a.js';
import { g4b } from './g4b.js';
import { g4c } from './g4c.js';
import { g5 } from './g5.js';
import type { Goal } from './goal.js';
import { groups } from './groups.js';

export const GOALS: readonly Goal[] = [g3a, g3b, g4a, g4b, g4c, g5, groups];
