// All of ClawLoop in one file and one process: serve a model, judge its answers, train on the judgments, and put
// the new weights live while the server keeps answering.
//
//   npm run example:minimal
//
// The model is claw-nano: 1 million parameters, part of this repository. About a third of its answers have bullet
// points. The judge below wants them in every answer, and the model learns this from scores alone.
//
// Read from top to bottom: serve, judge, train, swap, and `main`, which runs them in this order. In the product,
// four services do the same with an event log between them: a crash loses nothing, and every version can be
// traced to the answers that made it. The comments name the place that does the work in the product.

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setImmediate as letServerRun } from 'node:timers/promises';
import { sampleAsk } from '../shared/claw-nano/dialogues/ask.ts';
import { heldOutPrompts } from '../shared/claw-nano/dialogues/held-out-prompts.ts';
import type { ChatMessage } from '../shared/events/chat-message.ts';
import type { AdapterFile } from '../shared/policy/checkpoints/adapter-files.ts';
import { openCheckpoint } from '../shared/policy/checkpoints/checkpoint.ts';
import { createDecoder } from '../shared/policy/decode/decoding.ts';
import { sampleToken } from '../shared/policy/decode/sampling.ts';
import { openBackend } from '../shared/policy/executors/backend.ts';
import { binaryLoss } from '../shared/policy/losses/binary.ts';
import { tokenShares } from '../shared/policy/losses/reduction.ts';
import { createLora } from '../shared/policy/model/lora.ts';
import { CLAW_NANO, modelFolder } from '../shared/policy/model/model-folder.ts';
import { loadPolicy } from '../shared/policy/model/policy.ts';
import { createRandom, type Random } from '../shared/policy/model/random.ts';
import { loadPromptWriter } from '../shared/policy/text/load-prompt-writer.ts';
import { loadTokenizer } from '../shared/policy/text/tokenizer.ts';
import { createAdamW, emptyAdamWState } from '../shared/policy/train/adamw.ts';
import { lossAndGradients } from '../shared/policy/train/training.ts';

const SEED = 'minimal-loop';
const BATCH_SIZE = 48;
const HELD_OUT = 48;
const OPTIMIZER_STEPS = 6;
const MAX_TOKENS = 96;

// ---- 1. serve

type Model = Awaited<ReturnType<typeof loadModel>>;
type Version = ReturnType<typeof openVersion>;

/** What training needs of an answer: its exact tokens, and the log-probability of each when it was sampled. */
type Sampled = {
  readonly version: number;
  readonly promptIds: readonly number[];
  readonly responseIds: number[];
  readonly logProbs: number[];
};

/** Loads the base model. Product: services/serving/engine. */
async function loadModel() {
  const folder = modelFolder(CLAW_NANO);
  const checkpoint = await openCheckpoint(folder);
  const { temperature = 1, topP = 1, topK = 0, eosTokenIds } = checkpoint.generationConfig;
  return {
    policy: await loadPolicy(checkpoint, await openBackend('wasm')),
    tokenizer: await loadTokenizer(folder),
    writePrompt: await loadPromptWriter(folder),
    sampling: { temperature, topP, topK },
    endIds: new Set(eosTokenIds),
  };
}

/**
 * One version of the policy: the base and, once something is learned, an adapter (LoRA). Each round adds one
 * token to every running answer; the server handles requests between rounds.
 * Product: scheduler.ts in services/serving/engine.
 */
function openVersion({ policy, sampling, endIds }: Model, version: number, trained?: AdapterFile) {
  type Running = { sampled: Sampled; random: Random; slot: number; id: number; finish: (s: Sampled) => void };
  const adapter = trained && policy.loadAdapter(trained);
  const limits = { maxSequences: 64, maxPositions: policy.config.maxPositions };
  const decoder = createDecoder(policy, adapter, limits);
  const running = new Set<Running>();
  let isRetired = false;

  const freeWhenUnused = (): void => {
    if (!isRetired || running.size > 0) return;
    decoder.dispose();
    adapter?.dispose();
  };
  const take = (answer: Running, logits: Float32Array): void => {
    const { sampled, random, slot, finish } = answer;
    const { id, logProb } = sampleToken(logits, sampling, random);
    sampled.responseIds.push(id);
    sampled.logProbs.push(logProb);
    answer.id = id;
    if (!endIds.has(id) && sampled.responseIds.length < MAX_TOKENS) return;
    decoder.release(slot);
    running.delete(answer);
    finish(sampled);
  };
  const round = (): void => {
    const answers = [...running];
    decoder.step(answers).forEach((logits, row) => {
      take(answers[row]!, logits);
    });
    if (running.size > 0) setImmediate(round);
    else freeWhenUnused();
  };

  return {
    running,
    generate: (promptIds: readonly number[], seed: number): Promise<Sampled> => {
      const { slot, logits } = decoder.admit(promptIds);
      if (running.size === 0) setImmediate(round);
      return new Promise((finish) => {
        const sampled = { version, promptIds, responseIds: [], logProbs: [] };
        const answer = { sampled, random: createRandom(`${SEED}/${seed}`), slot, id: 0, finish };
        running.add(answer);
        take(answer, logits);
      });
    },
    retire: (): void => {
      isRetired = true;
      freeWhenUnused();
    },
  };
}

/** The live version, and all answers by id. Product: services/serving/heads and shared/log. */
type World = { readonly model: Model; readonly answers: Map<string, Sampled>; live: Version };

/** An OpenAI-compatible endpoint, for any client. Product: services/serving/http and api. */
async function serve(world: World): Promise<Server> {
  const { tokenizer, writePrompt } = world.model;
  const complete = async (body: unknown) => {
    const { messages, seed = 0 } = body as { messages: ChatMessage[]; seed?: number };
    const promptIds = writePrompt({ messages, tools: [], variables: {} });
    const sampled = await world.live.generate(promptIds, seed);
    const id = `chatcmpl-${world.answers.size + 1}`;
    world.answers.set(id, sampled);
    const content = tokenizer.decode(sampled.responseIds, { skipSpecial: true });
    const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }];
    return { id, object: 'chat.completion', model: `claw-nano@v${sampled.version}`, choices };
  };
  const server = createServer(async (request, response) => {
    const reply = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (request.url !== '/v1/chat/completions') return reply(404, { error: { message: 'not found' } });
    try {
      return reply(200, await complete(await json(request)));
    } catch (error) {
      return reply(400, { error: { message: String(error) } });
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

// ---- 2. judge

/** The taste. Write your own and run again. Product: services/judge, which reads what the person says next. */
const judge = (answer: string): number => (/^[-*•] /m.test(answer) ? 1 : -1);

type Judged = { readonly id: string; readonly model: string; readonly text: string; readonly reward: number };
type Completion = Pick<Judged, 'id' | 'model'> & { choices: [{ message: { content: string } }] };

/** Asks all questions over HTTP, as any client does, and judges the answers. */
function chat(url: string, questions: readonly string[], signal: AbortSignal): Promise<readonly Judged[]> {
  const ask = async (content: string, seed: number): Promise<Judged> => {
    const body = JSON.stringify({ model: 'claw-nano', messages: [{ role: 'user', content }], seed });
    const response = await fetch(url, { method: 'POST', body, signal });
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
    const { id, model, choices } = (await response.json()) as Completion;
    return { id, model, text: choices[0].message.content, reward: judge(choices[0].message.content) };
  };
  return Promise.all(questions.map(ask));
}

// ---- 3. train

/**
 * One training step: raises the probability of answers that scored above the batch's average and lowers that of
 * the others, in a few optimizer steps. Product: services/trainer/step.ts.
 */
async function train(
  { policy, sampling: { temperature } }: Model,
  batch: readonly { readonly sampled: Sampled; readonly reward: number }[],
  signal: AbortSignal,
): Promise<AdapterFile> {
  const adapter = createLora(policy.config, { rank: 8, alpha: 16, seed: SEED }); // changes nothing yet
  const parameters = new Map([...adapter.tensors].map(([name, { values }]) => [name, values]));
  // Near claw-nano's defaults in training-defaults.ts. Other models need far smaller steps.
  const adamw = createAdamW({ learningRate: 0.3, epsilon: 1e-2, beta1: 0, maxGradientNorm: 0.1 });
  const moments = emptyAdamWState();

  const sequences = batch.map(({ sampled }) => ({ ...sampled, temperature }));
  const behavior = batch.map(({ sampled }) => sampled.logProbs);
  const average = batch.reduce((sum, { reward }) => sum + reward, 0) / batch.length;
  const advantages = batch.map(({ sampled, reward }) => sampled.logProbs.map(() => reward - average));
  const everyToken = behavior.map((logProbs) => logProbs.map(() => 1));
  const constants = {
    behavior,
    prox: behavior,
    advantages,
    shares: tokenShares(everyToken, 'sample'),
    unweighted: batch.map(() => false),
  };
  const clip = { clipLow: 0.2, clipHigh: 0.28, dualClip: 3, stalenessCap: undefined };

  for (let step = 1; step <= OPTIMIZER_STEPS; step++) {
    const loaded = policy.loadAdapter(adapter);
    const lossOf = (logProbs: readonly Float32Array[]) => binaryLoss({ ...constants, cur: logProbs }, clip);
    const { loss, gradients } = lossAndGradients(policy, loaded, sequences, { loss: lossOf }); // forward and backward
    loaded.dispose();
    adamw.step(parameters, gradients, moments);
    console.log(`  optimizer step ${step} of ${OPTIMIZER_STEPS}: loss ${loss.toFixed(4)}`);
    await letServerRun(); // The product trains in a service of its own.
    signal.throwIfAborted();
  }
  return adapter;
}

// ---- 4. swap

/**
 * New requests get the new weights. Running answers end on the version that they began with.
 * Product: versions.ts in services/serving/engine, once services/trainer/gate.ts has passed the new version.
 */
function swap(world: World, version: number, adapter: AdapterFile): void {
  const old = world.live;
  world.live = openVersion(world.model, version, adapter);
  old.retire();
}

// ---- the loop

const likedShare = (answers: readonly Judged[]): number =>
  answers.filter(({ reward }) => reward > 0).length / answers.length;
const percent = (share: number): string => `${Math.round(100 * share)} %`;

async function main(signal: AbortSignal): Promise<void> {
  const model = await loadModel();
  const world: World = { model, answers: new Map(), live: openVersion(model, 0) };
  const server = await serve(world);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/chat/completions`;
  console.log(`serving claw-nano at ${url}`);
  try {
    const random = createRandom(SEED);
    const questions = Array.from({ length: BATCH_SIZE }, () => sampleAsk(random).text);
    const heldOut = heldOutPrompts(SEED, HELD_OUT).map(({ text }) => text);

    const before = await chat(url, heldOut, signal);
    console.log(`before training, ${percent(likedShare(before))} of ${HELD_OUT} answers have bullet points`);

    const judged = await chat(url, questions, signal);
    console.log(`batch of ${judged.length} other answers: ${percent(likedShare(judged))} scored +1`);
    const batch = judged.map(({ id, reward }) => ({ sampled: world.answers.get(id)!, reward }));
    const adapter = await train(model, batch, signal);

    const begun = chat(url, heldOut.slice(0, 1), signal);
    while (world.live.running.size === 0 && !signal.aborted) await letServerRun();
    swap(world, 1, adapter);
    console.log(`version 1 is live; the answer that was running is from ${(await begun)[0]!.model}`);

    const after = await chat(url, heldOut, signal);
    console.log(`after training, ${percent(likedShare(after))} of ${HELD_OUT} answers have bullet points\n`);
    const changed = heldOut.map((_, n) => n).filter((n) => before[n]!.reward < after[n]!.reward);
    for (const n of changed.slice(0, 3)) {
      console.log(`> ${heldOut[n]}`);
      for (const { model, text } of [before[n]!, after[n]!]) console.log(`${model}: ${text}`);
      console.log();
    }
    console.log(`result before=${likedShare(before).toFixed(3)} after=${likedShare(after).toFixed(3)}`);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

const stop = new AbortController();
process.once('SIGINT', () => stop.abort());
await main(stop.signal).catch((error: unknown) => {
  if (!stop.signal.aborted) throw error;
  console.log('stopped');
  process.exitCode = 130;
});
