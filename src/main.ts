import { requireNode } from './runtime/node-version.js';

requireNode();
const { requireDescriptors } = await import('./runtime/descriptors.js');
requireDescriptors();
// Not loaded before: loading is what takes the most descriptors.
await import('./serve.js');
