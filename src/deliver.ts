import { requireNode } from './runtime/node-version.js';

requireNode();
const { requireFileDescriptors } = await import('./runtime/file-descriptors.js');
requireFileDescriptors();
await import('./webhooks/delivery/deliver-webhooks.js');
