// node infra/runtime/run.js test/bench/learning/changes.ts '{"name":"anchor","seed":4,"phases":[["one sentence",40],
// ["bare list",60]],"settings":{"teacherAnchor":0.5}}': a person whose taste changes, and what becomes of the policy
// over many sessions. One line of JSON per evaluation: of the held-out answers, and of the steps since the previous
// evaluation.

import { z } from 'zod';
import { answerFigures } from '../../../services/trainer/answer-figures.ts';
import { untilThreeInARow } from './cell.ts';
import { type ChangingPerson, talkOnce } from './changing.ts';
import { evaluate } from './evaluate.ts';
import { openLoop } from './loop.ts';
import { openLearningModel } from './model.ts';
import { type BenchTaste, tastes, unreachable } from './tastes.ts';

const Cell = z.object({
  name: z.string(),
  seed: z.int(),
  phases: z.array(z.tuple([z.string(), z.int().min(1)])),
  settings: z.record(z.string(), z.unknown()).default({}),
  /** sessions between two evaluations */
  every: z.int().default(20),
  /** held-out answers of an evaluation */
  answers: z.int().default(64),
  falseVerdicts: z.number().default(0),
  wantsContent: z.boolean().default(false),
  gateRequests: z.boolean().default(true),
});

const tasteOf = (name: string): BenchTaste => {
  const found = [...tastes, ...unreachable].find((taste) => taste.name === name);
  if (found === undefined) throw new Error(`there is no taste ${name}`);
  return found;
};

const cell = Cell.parse(JSON.parse(process.argv[2] ?? '{}'));
const model = await openLearningModel();
const loop = openLoop(model, {
  method: 'combine',
  seed: `changes/${cell.seed}`,
  settings: cell.settings,
});
const person: ChangingPerson = cell;
const { speech } = model.engine;
let session = 0;
let shownSteps = 0;
const began = performance.now();

const look = (taste: BenchTaste, extra: object = {}): void => {
  const held = evaluate(loop, taste, cell.seed, cell.answers);
  const steps = loop.steps().slice(shownSteps);
  shownSteps += steps.length;
  const figures = cell.gateRequests && speech && answerFigures(model.engine, speech, loop.adapter());
  const last = steps.findLast(({ gate }) => gate.passed)?.metrics;
  console.log(
    JSON.stringify({
      name: cell.name,
      seed: cell.seed,
      session,
      taste: taste.name,
      version: loop.served(),
      met: held.met,
      onTopic: held.onTopic,
      distinct: held.distinct,
      steps: steps.length,
      rejected: steps.flatMap(({ gate }) => (gate.passed ? [] : [gate.reason])).join(),
      scaled: steps.filter(({ metrics }) => (metrics.stepScale ?? 1) < 1).length,
      klToBase: last?.klToBase,
      ...(figures && { gateRequests: figures }),
      ...extra,
      seconds: Math.round((performance.now() - began) / 1000),
    }),
  );
};

look(tasteOf(cell.phases[0]![0]));
for (const [name, sessions] of cell.phases) {
  const taste = tasteOf(name);
  const firstMet: boolean[] = [];
  for (let n = 1; n <= sessions; n++) {
    session += 1;
    firstMet.push(await talkOnce(taste, person, session, loop.chat));
    await loop.settle();
    if (n % cell.every === 0 || n === sessions)
      look(taste, n === sessions ? { phase: name, until: untilThreeInARow(firstMet) } : {});
  }
}
await loop.close();
model.dispose();
