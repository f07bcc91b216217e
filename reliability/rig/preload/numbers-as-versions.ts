/** Removes the checksum from the names of versions: a version that a restore has removed is taken for its successor. */
import { History } from '../../../src/lists/history.js';

// oxlint-disable-next-line unbound-method
const { add, after } = History.prototype;
const mark = '0'.repeat(16);

History.prototype.add = function ({ number }, change) {
  add.call(this, { number, mark }, change);
};
History.prototype.after = function ({ number }) {
  return after.call(this, { number, mark });
};
