import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { describeWithChromium } from '../../support/browser.js';
import { figures, refreshes, tokens } from './figures.js';
import { keyAndFailures } from './key.js';
import { layout } from './layout.js';
import { closePages, startDashboard, stopDashboard } from './opened-dashboard.js';
import { filters, knownAt } from './filters.js';
import { mornings } from './mornings.js';
import { recordsDialog } from './records-dialog.js';

describeWithChromium('The dashboard', () => {
  beforeAll(startDashboard);
  afterAll(stopDashboard);
  afterEach(closePages);

  figures();
  layout();
  filters();
  keyAndFailures();
  tokens();
  // The following tests record more events.
  recordsDialog();
  mornings();
  refreshes();
  knownAt();
});
