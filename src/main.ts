import { requireDescriptors } from './descriptors.js';

requireDescriptors();
// Not loaded before: loading is what takes the most descriptors.
await import('./serve.js');
