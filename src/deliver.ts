import { requireNode } from './runtime/version.js';

requireNode();
const { requireFileDescriptors } = await import('./runtime/lifecycle.js');
requireFileDescriptors();
const { runDeliveryProcess } = await import('./webhooks/delivery/deliveries.js');
await runDeliveryProcess();
