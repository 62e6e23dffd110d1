import OpenAI from 'openai';
import PQueue from 'p-queue';
import { z } from 'zod';
import { reward } from '../../../examples/tool-calls/reward.ts';
import { shopAnswer, shopTools } from '../../../examples/tool-calls/tools.ts';
import {
  heldOutQuestions,
  type ShopQuestion,
  trainedQuestions,
} from '../../../shared/claw-nano/tools/shop.ts';
import { parseJson } from '../../../shared/lang/json.ts';
import { createRandom } from '../../../shared/policy/model/random.ts';
import type { Experiment, Question } from './experiment.ts';
import { shuffled } from './routing-questions.ts';
import { callsFlags } from './settings.ts';

type ShopTask = Question & { readonly answer: string };

/** held-out questions per seed, and attempts at each */
const HELD_OUT = 40;
const ATTEMPTS = 4;

/** requests sent at the same time, so that they are generated as one batch */
const AT_ONCE = 8;

const Arguments = z.object({ item: z.string() });

const asTask = ({ text, tool, item }: ShopQuestion): ShopTask => ({
  id: `${tool.name}-${text.replace(/[^A-Za-z]+/g, '-').toLowerCase()}`,
  question: text,
  answer: shopAnswer(tool.name, item)!,
});

/** claw-nano-tools calls one of four tools with an argument that it writes, and answers with the result. */
export const calls: Experiment<ShopTask> = {
  name: 'calls',
  example: 'tool-calls',
  agent: 'tools',
  flags: callsFlags,
  split: (seed) => {
    const random = createRandom(`calls/split/${seed}`);
    return {
      training: shuffled(trainedQuestions, random).map(asTask),
      heldOut: shuffled(heldOutQuestions, random).slice(0, HELD_OUT).map(asTask),
    };
  },
  shareRight,
  measured: 'share of attempts at held-out questions that end with the right answer',
};

const tools = shopTools.map(({ name, description, argument }) => ({
  type: 'function' as const,
  function: {
    name,
    description,
    parameters: { type: 'object', properties: { [argument]: { type: 'string' } }, required: [argument] },
  },
}));

/**
 * The share of attempts that a version ends with the right answer, sampled at temperature 1 as attempts are. Asks
 * for the pinned version, so nothing is collected.
 */
async function shareRight(url: string, version: number, tasks: readonly ShopTask[]): Promise<number> {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 5 });
  const model = version === 0 ? 'clawloop@base' : `clawloop@v${version}`;
  const queue = new PQueue({ concurrency: AT_ONCE });
  const answer = async (messages: readonly OpenAI.ChatCompletionMessageParam[], seed: number) => {
    const completion = await client.chat.completions.create({
      model,
      messages: [...messages],
      tools,
      seed,
      max_tokens: 60,
      temperature: 1,
      top_p: 1,
    });
    return completion.choices[0]!.message;
  };
  const attempt = async ({ question, answer: right }: ShopTask, seed: number) => {
    const opening = [{ role: 'user' as const, content: question }];
    const first = await answer(opening, seed);
    const [call] = first.tool_calls ?? [];
    if (call?.type !== 'function') return isRight(right, first.content);
    const given = Arguments.safeParse(parseJson(call.function.arguments));
    const content = shopAnswer(call.function.name, given.data?.item ?? '') ?? 'There is no such item.';
    const last = await answer(
      [...opening, first, { role: 'tool', tool_call_id: call.id, content }],
      seed + 1,
    );
    return isRight(right, last.content);
  };
  const attempts = tasks.flatMap((task, at) =>
    Array.from({ length: ATTEMPTS }, (_, index) => () => attempt(task, 2 * (at * ATTEMPTS + index))),
  );
  const right = await queue.addAll(attempts);
  return right.filter(Boolean).length / right.length;
}

const isRight = (answer: string, said: string | null): boolean =>
  reward({
    task: { answer },
    result: { answer: said ?? '' },
    session: '',
    attempt: 0,
    signal: new AbortController().signal,
  }) === 1;
