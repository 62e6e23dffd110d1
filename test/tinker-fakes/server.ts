import { parseArgs } from 'node:util';
import { z } from 'zod';
import { dialects } from '../../shared/tinker/dialects.ts';
import type { DialectName } from '../../shared/tinker/training-server.ts';
import { tinkerFake } from './tinker-fake.ts';

// The fake as a process of its own, for tests that kill it. Prints its URL as one line of JSON when it is ready.
// POST /fake/fault {fault, skip?, times?} plans a fault; POST /fake/elapse {ms} lets time pass for sessions without a
// heartbeat; GET /fake/state lists models and saved states.

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    dialect: { type: 'string', default: 'skyrl-jax' },
    model: { type: 'string', default: 'tiny' },
    reference: { type: 'string', default: 'qwen3-tiny' },
    /** keeps saved states over a restart */
    folder: { type: 'string' },
    'api-key': { type: 'string' },
    'most-models': { type: 'string', default: '8' },
  },
});
const fake = await tinkerFake({
  port: Number(values.port),
  dialect: z.enum(Object.keys(dialects) as [DialectName, ...DialectName[]]).parse(values.dialect),
  model: values.model,
  reference: values.reference,
  mostModels: Number(values['most-models']),
  ...(values.folder !== undefined && { folder: values.folder }),
  ...(values['api-key'] !== undefined && { apiKey: values['api-key'] }),
});
process.stdout.write(`${JSON.stringify({ url: fake.url, pid: process.pid })}\n`);
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void fake.stop().then(() => process.exit(0)));
