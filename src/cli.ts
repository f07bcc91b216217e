#!/usr/bin/env node
import { requireNode } from './runtime/node-version.js';

requireNode();
const { run } = await import('./cli/runtime/run.js');
await run(process.argv.slice(2));
