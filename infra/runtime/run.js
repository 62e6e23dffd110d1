// Runs a script on Node 24 or newer: `node infra/runtime/run.js SCRIPT [ARG ...]`. Signals and the exit code
// pass through. Long-running scripts in package.json `exec` it: npm signals only the shell in between, which
// would otherwise end alone.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { nodePath } from './node-path.js';

const node = nodePath();
if (node === undefined) {
  console.error('clawloop: Node 24 or newer is required; `npm start` in the clone installs it');
  process.exit(1);
}
// Node keeps compiled modules here, so a start takes half the time. Where it cannot write, it compiles again.
const cache = fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url));
const child = spawn(node, ['--disable-warning=ExperimentalWarning', ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { NODE_COMPILE_CACHE: cache, ...process.env },
});
// A terminal sends Ctrl-C to the whole process group, so the child gets its own; this process must outlive it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => signal !== 'SIGINT' && child.kill(signal));
}
child.on('exit', (code, signal) => {
  process.exitCode = signal ? 128 + constants.signals[signal] : code;
});
