import { requireNode } from './runtime/node-version.js';

requireNode();
const { requireDescriptors } = await import('./runtime/descriptors.js');
requireDescriptors();
await import('./webhooks/delivery/deliver-webhooks.js');
