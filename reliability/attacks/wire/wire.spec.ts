import { descriptors } from './descriptors.js';
import { framing } from './framing.js';
import { logInjection } from './log-injection.js';
import { neverReaders } from './never-readers.js';
import { sizes } from './sizes.js';
import { slowSenders } from './slow-senders.js';
import { withstands } from '../withstands.js';

await withstands([descriptors, framing, logInjection, neverReaders, sizes, slowSenders]);
