import { readFileSync } from 'node:fs';
import { openCheckpoint } from '../../shared/policy/checkpoints/checkpoint.ts';
import { openBackend } from '../../shared/policy/executors/backend.ts';
import { loadPolicy } from '../../shared/policy/model/policy.ts';

/** Loads a model and prints the memory that it took, in bytes, as JSON: `load-model.ts BACKEND FOLDER`. */
const [backend, folder] = process.argv.slice(2);

/** The most memory that this process ever held. */
const peak = (): number =>
  1024 * Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);

const executor = await openBackend(backend === 'wasm' ? 'wasm' : 'native');
const before = peak();
const checkpoint = await openCheckpoint(folder!);
await loadPolicy(checkpoint, executor);
const loading = peak() - before;
const weights = checkpoint.names.reduce(
  (sum, name) => sum + 4 * checkpoint.shape(name).reduce((product, size) => product * size, 1),
  0,
);
process.stdout.write(JSON.stringify({ loading, weights }));
