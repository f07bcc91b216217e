import { requireNode } from './runtime/node-version.js';

requireNode();
const { requireFileDescriptors } = await import('./runtime/file-descriptors.js');
requireFileDescriptors();
// This module is imported only now, because loading the modules already needs many file descriptors.
await import('./api/serve.js');
