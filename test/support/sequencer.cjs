const Sequencer = require('@jest/test-sequencer').default;
const { scripts } = require('../../package.json');

/** What `npm test` leaves out takes longest, however short its file. Begun last it would keep one worker waiting. */
const LONG = new RegExp(/--testPathIgnorePatterns "<rootDir>([^"]+)"/.exec(scripts.test)[1]);

/** The long ones first; among equals as Jest has them: by the time they last took, and by size where that is unknown. */
module.exports = class extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    const isLong = ({ path }) => LONG.test(path);
    return [...sorted.filter(isLong), ...sorted.filter((test) => !isLong(test))];
  }
};
