import { requireNode } from './runtime/version.js';

requireNode();
const { requireFileDescriptors } = await import('./runtime/lifecycle.js');
requireFileDescriptors();
// This module is imported only now, because loading the modules already needs many file descriptors.
await import('./api/serve.js');
