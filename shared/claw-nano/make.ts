/**
 * Makes claw-nano from a seed: `npm run make:claw-nano [-- --seed S --tokens N --out FOLDER --docs FOLDER]`.
 * Ctrl-C stops it between two steps, and does not change the model folder.
 */
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createDecoder } from '../policy/decode/decoding.ts';
import { openBackend } from '../policy/executors/backend.ts';
import { initialWeights } from '../policy/model/initialise.ts';
import { weightShapes } from '../policy/model/layout.ts';
import { loadPolicy, type Policy, weightsInMemory } from '../policy/model/policy.ts';
import { createRandom, type Random } from '../policy/model/random.ts';
import { createChatTemplate } from '../policy/text/chat-template.ts';
import { createTokenizer } from '../policy/text/tokenizer.ts';
import { dialogueMessages, generateDialogue } from './dialogues/dialogue.ts';
import { measure, showAnswers } from './measure.ts';
import {
  chatTemplate,
  clawNanoConfig,
  endIds,
  paddingId,
  samplingSettings,
  writeModelTexts,
  writeWeights,
} from './model-files.ts';
import type { Speaker } from './sample-answers.ts';
import { makeTokenizer } from './tokenizer.ts';
import { type TrainingOptions, train } from './train.ts';
import type { CurvePoint } from './training-curve.ts';
import { writeReport } from './training-report.ts';

const { values: flags } = parseArgs({
  options: {
    seed: { type: 'string', default: 'claw-nano' },
    tokens: { type: 'string', default: '14000000' },
    out: { type: 'string', default: fileURLToPath(new URL('./model', import.meta.url)) },
    docs: { type: 'string', default: fileURLToPath(new URL('../../docs/understand', import.meta.url)) },
    backend: { type: 'string', default: 'auto' },
    threads: { type: 'string', default: '2' },
    answers: { type: 'string', default: '128' },
  },
});
const backends = ['auto', 'native', 'wasm'] as const;
const backend = backends.find((each) => each === flags.backend);
if (backend === undefined) throw new Error(`--backend must be one of ${backends.join(', ')}`);

const options: TrainingOptions = {
  seed: flags.seed,
  tokens: Number(flags.tokens),
  tokensPerBatch: 1024,
  peakLearningRate: 5e-3,
  warmUpTokens: Math.min(200_000, Number(flags.tokens) / 10),
  paddingId,
  curveEvery: 100,
  heldOutDialogues: 128,
};
const threads = Number(flags.threads);

let stopped = false;
process.once('SIGINT', () => {
  stopped = true;
});

const executor = await openBackend(backend, { threads });
console.error(`make:claw-nano: ${executor.report}`);
const tokenizerJson = makeTokenizer(options.seed);
const tokenizer = createTokenizer(tokenizerJson);
const weights = initialWeights(clawNanoConfig, options.seed);
const policy = await loadPolicy(weightsInMemory(clawNanoConfig, weights), executor);

const next = (random: Random) => dialogueMessages(generateDialogue(random));
const curve: CurvePoint[] = [];
const started = performance.now();
for (const progress of train(policy, weights, tokenizer, { ...options, next })) {
  await setImmediate(); // lets Ctrl-C through
  if (stopped) break;
  if (progress === undefined) continue;
  const { learningRate, gradientNorm, tokensPerSecond, ...point } = progress;
  curve.push(point);
  const left = (options.tokens - point.tokens) / tokensPerSecond;
  console.error(
    `step ${String(point.step).padStart(5)}  ${(point.tokens / 1e6).toFixed(2)} M tokens  ` +
      `loss ${point.trainingLoss.toFixed(3)}  held out ${point.heldOutLoss.toFixed(3)}  ` +
      `gradient ${gradientNorm.toFixed(2)}  rate ${learningRate.toExponential(1)}  ` +
      `${tokensPerSecond.toFixed(0)} tok/s  ${Math.max(0, left / 60).toFixed(1)} min left`,
  );
}
if (stopped) {
  console.error('make:claw-nano: stopped; the model folder is unchanged');
  process.exit(130);
}
const seconds = (performance.now() - started) / 1000;

const shapes = weightShapes(clawNanoConfig);
await writeModelTexts(flags.out, tokenizerJson);
await writeWeights(
  flags.out,
  new Map([...weights].map(([name, values]) => [name, { shape: shapes.get(name)!, values }])),
);
console.error(`make:claw-nano: wrote ${flags.out}; measuring`);

const speaker = createSpeaker(policy);
console.error(showAnswers(speaker, createRandom('show'), samplingSettings).join('\n'));
const measured = measure(speaker, {
  seed: options.seed,
  settings: samplingSettings,
  answers: Number(flags.answers),
});
await writeReport(
  {
    options,
    seconds: Math.round(seconds),
    backend: executor.report,
    threads,
    curve,
    measured,
  },
  { json: join(flags.out, 'training.json'), docs: flags.docs },
);
policy.dispose();

function createSpeaker(trained: Policy): Speaker {
  const decoder = createDecoder(trained, undefined, { maxSequences: 16, maxPositions: 512 });
  return { decoder, tokenizer, template: createChatTemplate(chatTemplate), endIds: new Set(endIds) };
}
