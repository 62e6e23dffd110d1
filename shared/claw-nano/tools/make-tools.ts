/**
 * Makes claw-nano-tools from claw-nano: `npm run make:claw-nano-tools [-- --tokens N --out FOLDER]`. Half of its training
 * conversations call tools. Ctrl-C stops it between two steps, and does not change the model folder.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { openCheckpoint } from '../../policy/checkpoints/checkpoint.ts';
import { createDecoder } from '../../policy/decode/decoding.ts';
import { openBackend } from '../../policy/executors/backend.ts';
import { loadPolicy, weightsInMemory } from '../../policy/model/policy.ts';
import { createRandom, type Random } from '../../policy/model/random.ts';
import { createChatTemplate } from '../../policy/text/chat-template.ts';
import { createTokenizer } from '../../policy/text/tokenizer.ts';
import { chance } from '../dialogues/choose.ts';
import { dialogueMessages, generateDialogue } from '../dialogues/dialogue.ts';
import { measure } from '../measure.ts';
import {
  endIds,
  paddingId,
  samplingSettings,
  toolsChatTemplate,
  toolsConfig,
  writeModelTexts,
  writeWeights,
} from '../model-files.ts';
import { type TrainingOptions, train } from '../train.ts';
import type { CurvePoint } from '../training-curve.ts';
import { measureTools } from './measure-tools.ts';
import { generateToolDialogue } from './tool-dialogue.ts';
import { withCallTokens, withRowsOfCallTokens } from './vocabulary.ts';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const { values: flags } = parseArgs({
  options: {
    tokens: { type: 'string', default: '1500000' },
    rate: { type: 'string', default: '2e-3' },
    out: { type: 'string', default: here('../tools-model') },
    threads: { type: 'string', default: '2' },
  },
});
const options: TrainingOptions = {
  seed: 'claw-nano-tools',
  tokens: Number(flags.tokens),
  tokensPerBatch: 1024,
  peakLearningRate: Number(flags.rate),
  warmUpTokens: Number(flags.tokens) / 20,
  paddingId,
  curveEvery: 100,
  heldOutDialogues: 128,
};
const next = (random: Random) =>
  chance(random, 0.5) ? generateToolDialogue(random) : dialogueMessages(generateDialogue(random));

let stopped = false;
process.once('SIGINT', () => {
  stopped = true;
});

const executor = await openBackend('auto', { threads: Number(flags.threads) });
const stock = await openCheckpoint(here('../model'));
const tokenizerJson = withCallTokens(
  JSON.parse(await readFile(here('../model/tokenizer.json'), 'utf8')) as Record<string, unknown>,
);
const tokenizer = createTokenizer(tokenizerJson);
const shapes = new Map(stock.names.map((name) => [name, stock.shape(name)]));
const weights = new Map<string, Float32Array>();
for (const name of stock.names) weights.set(name, Float32Array.from(await stock.float32(name)));
withRowsOfCallTokens(weights, shapes, tokenizer);
const policy = await loadPolicy(weightsInMemory(toolsConfig, weights), executor);

const curve: CurvePoint[] = [];
for (const progress of train(policy, weights, tokenizer, { ...options, next })) {
  await setImmediate(); // lets Ctrl-C through
  if (stopped) break;
  if (progress === undefined) continue;
  const { learningRate, gradientNorm, tokensPerSecond, ...point } = progress;
  curve.push(point);
  const left = (options.tokens - point.tokens) / tokensPerSecond;
  console.error(
    `step ${String(point.step).padStart(5)}  loss ${point.trainingLoss.toFixed(3)}  held out ` +
      `${point.heldOutLoss.toFixed(3)}  gradient ${gradientNorm.toFixed(2)}  rate ${learningRate.toExponential(1)}  ` +
      `${tokensPerSecond.toFixed(0)} tok/s  ${Math.max(0, left / 60).toFixed(1)} min left`,
  );
}
if (stopped) {
  console.error('make:claw-nano-tools: stopped; the model folder is unchanged');
  process.exit(130);
}
await writeModelTexts(flags.out, tokenizerJson, { config: toolsConfig, template: toolsChatTemplate });
await writeWeights(
  flags.out,
  new Map([...weights].map(([name, values]) => [name, { shape: shapes.get(name)!, values }])),
);

const decoder = createDecoder(policy, undefined, { maxSequences: 16, maxPositions: 512 });
const speaker = {
  decoder,
  tokenizer,
  template: createChatTemplate(toolsChatTemplate),
  endIds: new Set(endIds),
};
const asTrained = { temperature: 1, topP: 1, topK: 0 };
const tools = measureTools(speaker, {
  random: createRandom('tools/measure'),
  settings: asTrained,
  questions: 160,
});
const { free, smallFacts, declined } = measure(speaker, {
  seed: 'claw-nano',
  settings: samplingSettings,
  answers: 64,
});
const report = { options, curve, tools, chat: { ...free, smallFacts, declined } };
await writeFile(join(flags.out, 'training.json'), `${JSON.stringify(report, null, 1)}\n`);
console.error(JSON.stringify({ tools, chat: report.chat }, null, 1));
policy.dispose();
