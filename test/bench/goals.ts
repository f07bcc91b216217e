import { contentReading } from './content-reading.js';
import { eventStore } from './event-store.js';
import { g1 } from './g1.js';
import { g2 } from './g2.js';
import { g3a } from './g3a.js';
import { g3b } from './g3b.js';
import { g3c } from './g3c.js';
import { g3d } from './g3d.js';
import { g4a } from './g4a.js';
import { g4b } from './g4b.js';
import { g4c } from './g4c.js';
import { g5 } from './g5.js';
import { g5b } from './g5b.js';
import { g6a } from './g6a.js';
import { g6b } from './g6b.js';
import { g6c } from './g6c.js';
import { g7 } from './g7.js';
import { g8 } from './g8.js';
import { g9 } from './g9.js';
import type { Goal } from './goal.js';
import { groups } from './groups.js';

export const GOALS: readonly Goal[] = [
  g1,
  g2,
  g3a,
  g3b,
  g3c,
  g3d,
  g4a,
  g4b,
  g4c,
  g5,
  g5b,
  g6a,
  g6b,
  g6c,
  g7,
  g8,
  g9,
  contentReading,
  groups,
  eventStore,
];
