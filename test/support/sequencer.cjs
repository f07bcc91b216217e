const Sequencer = require('@jest/test-sequencer').default;

/** What starts processes, and so takes longest however short its file is. Begun last it would keep one worker waiting. */
const LONG =
  /\/test\/(?:faults|security|bench|cli|demo|embedded-postgres|event-log|projections)\/|\/(?:operator|orderly-stop|stopped-start)\.spec/;

/** The long ones first; among equals as Jest has them: by the time they last took, and by size where that is unknown. */
module.exports = class extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    const isLong = ({ path }) => LONG.test(path);
    return [...sorted.filter(isLong), ...sorted.filter((test) => !isLong(test))];
  }
};
