/** Removes the rule that reserves half of the delivery slots for fast endpoints. */
import './report-resources.js';
import { Slots } from '../../../src/webhooks/delivery/context.js';

const run = Object.getOwnPropertyDescriptor(Slots.prototype, 'run')!.value as Slots['run'];

Slots.prototype.run = function <Result>(
  this: Slots,
  organization: string,
  _: boolean,
  job: () => Promise<Result>,
): Promise<Result> {
  return run.call(this, organization, true, job) as Promise<Result>;
};
