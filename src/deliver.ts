import { requireNode } from './runtime/version.js';

requireNode();
const { requireFileDescriptors } = await import('./runtime/lifecycle.js');
requireFileDescriptors();
await import('./webhooks/delivery/deliver-webhooks.js');
