import { poisonEvents } from '../faults/poison.js';
import { survives } from './survives.js';

survives(poisonEvents);
