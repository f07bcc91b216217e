import { requireNode } from './runtime/node-version.js';

requireNode();
const { requireDescriptors } = await import('./runtime/descriptors.js');
requireDescriptors();
// Imported only now, because loading the modules already needs many file descriptors.
await import('./serve.js');
