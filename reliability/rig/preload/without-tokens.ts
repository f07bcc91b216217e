/**
 * Removes a guard of consistency tokens. WITHOUT_TOKENS selects the guard: `wait` is the wait for the checkpoints,
 * `replica-rule` is the rule that only a replica that has reached the position may serve the read.
 */
import { Checkpoints } from '../../../src/read-models/checkpoints.js';
import { Replicas } from '../../../src/read-models/replicas.js';

if (process.env['WITHOUT_TOKENS'] === 'wait') Checkpoints.prototype.reached = () => Promise.resolve(true);
else {
  // oxlint-disable-next-line unbound-method
  const { read } = Replicas.prototype;
  Replicas.prototype.read = function (kind, primary, answer) {
    return read.call(this, kind, primary, answer) as ReturnType<typeof answer>;
  };
}
