import { fuzzing } from '../attacks/answers/fuzzing.js';
import { survives } from './survives.js';

survives(fuzzing);
