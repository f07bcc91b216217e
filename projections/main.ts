import { requireNode } from '../src/runtime/node-version.js';

requireNode();
await import('./project.js');
