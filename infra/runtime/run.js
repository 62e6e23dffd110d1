// Runs a script on Node 24 or newer: `node infra/runtime/run.js SCRIPT [ARG ...]`. Signals and the exit code
// pass through. The scripts of package.json that go on until they are told to end `exec` it: npm tells of a
// signal only the shell between, which would end alone.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { nodePath } from './node-path.js';

const node = nodePath();
if (node === undefined) {
  console.error('clawloop: needs Node 24 or newer; `npm start` in the clone installs it');
  process.exit(1);
}
const child = spawn(node, ['--disable-warning=ExperimentalWarning', ...process.argv.slice(2)], {
  stdio: 'inherit',
});
// A terminal sends Ctrl-C to the whole group: the child gets its own copy, this process only has to outlive
// it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => signal !== 'SIGINT' && child.kill(signal));
}
child.on('exit', (code, signal) => {
  process.exitCode = signal ? 128 + constants.signals[signal] : code;
});
