import { requireNode } from '../src/runtime/version.js';

requireNode();
await import('./project.js');
