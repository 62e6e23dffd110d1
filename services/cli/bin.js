#!/usr/bin/env node
// Plain JavaScript: the machine's own Node may be too old for TypeScript. Installs what is missing, then runs
// the command.
import { fileURLToPath } from 'node:url';
import '../../infra/runtime/bootstrap.js';

process.argv.splice(2, 0, fileURLToPath(new URL('./main.ts', import.meta.url)));
await import('../../infra/runtime/run.js');
