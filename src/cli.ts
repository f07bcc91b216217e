#!/usr/bin/env node
import { requireNode } from './runtime/version.js';

requireNode();
const { run } = await import('./cli/run.js');
await run(process.argv.slice(2));
