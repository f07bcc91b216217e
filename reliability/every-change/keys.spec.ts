import { keys } from '../attacks/answers/keys.js';
import { survives } from './survives.js';

survives(keys);
