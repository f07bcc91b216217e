/** Removes the sharing of list responses: each request makes and compresses its own. */
import './report-resources.js';
import { ListBodies } from '../../../src/lists/list-bodies.js';

// oxlint-disable-next-line unbound-method
const { jsonOf } = ListBodies.prototype;

ListBodies.prototype.jsonOf = (...request) => jsonOf.apply(new ListBodies(), request);
