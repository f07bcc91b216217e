import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { describeWithChromium } from '../../support/browser.js';
import { figures, refreshes, tokens } from './figures.js';
import { keyAndFailures } from './key.js';
import { layout } from './layout.js';
import { closePages, startDashboard, stopDashboard } from './opened-dashboard.js';
import { question } from './question.js';
import { which } from './which.js';

describeWithChromium('The dashboard', () => {
  beforeAll(startDashboard);
  afterAll(stopDashboard);
  afterEach(closePages);

  figures();
  layout();
  question();
  keyAndFailures();
  tokens();
  // From here on more is recorded.
  which();
  refreshes();
});
