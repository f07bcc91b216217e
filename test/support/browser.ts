import { findChromium } from './chromium.js';
import { describeWith } from './tools.js';

export const describeWithChromium = describeWith(
  findChromium() !== undefined,
  'Chromium (apt-get install chromium, or CHROMIUM=path)',
);
