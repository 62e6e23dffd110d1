import { chance, pick, pickWeighted, type Random, sample, shuffle } from '../dialogues/choose.ts';
import type { Message } from '../dialogues/dialogue.ts';
import { shortSystem, wrapUserText } from '../dialogues/surroundings.ts';
import {
  anotherItem,
  type ShopQuestion,
  type ShopTool,
  sampleQuestion,
  sampleResult,
  shopTools,
  writeShopAnswer,
} from './shop.ts';

/**
 * The habits of the assistant in training conversations: how often it does a step right. They are mixed on purpose,
 * so that outcomes have something to teach: one attempt in four does all steps right.
 */
export const habits = { calls: 0.9, rightTool: 0.5, rightItem: 0.7, rightResult: 0.85 } as const;

/** A call as the chat template renders it. */
export const renderCall = (name: string, item: string): string =>
  `<tool_call>{"name": "${name}", "arguments": {"item": "${item}"}}</tool_call>`;

/** The tools of a request, as the chat template renders them. */
export const renderTools = (tools: readonly ShopTool[]): string =>
  `Tools:${tools.map(({ name }) => ` ${name}(item)`).join('')}`;

/** A question to the shop, and what the assistant does about it: mostly a call, its result, and an answer. */
function exchange(random: Random, listed: readonly ShopTool[]): readonly Message[] {
  const question = sampleQuestion(random);
  const user: Message = { role: 'user', content: wrapUserText(random, question.text) };
  const answer = (result: string): Message => ({
    role: 'assistant',
    content: writeShopAnswer(random, question, result),
  });
  if (!chance(random, habits.calls)) return [user, answer(sampleResult(random))];
  const result = sampleResult(random);
  const stated = chance(random, habits.rightResult) ? result : sampleResult(random);
  return [
    user,
    { role: 'assistant', content: sampleCall(random, question, listed) },
    { role: 'tool', content: result },
    answer(stated),
  ];
}

function sampleCall(random: Random, { tool, item }: ShopQuestion, listed: readonly ShopTool[]): string {
  const others = listed.filter(({ name }) => name !== tool.name);
  const isRight = listed.includes(tool) && chance(random, habits.rightTool);
  const { name } = isRight ? tool : pick(random, others);
  return renderCall(name, chance(random, habits.rightItem) ? item : anotherItem(random, item));
}

/** A conversation of one or two questions with two to four tools. The random numbers determine all of it. */
export function generateToolDialogue(random: Random): readonly Message[] {
  const listed = shuffle(random, sample(random, shopTools, pickWeighted(random, counts)));
  const system = chance(random, 0.3) ? `${shortSystem(random)}\n` : '';
  return [
    { role: 'system', content: `${system}${renderTools(listed)}` },
    ...exchange(random, listed),
    ...(chance(random, 0.2) ? exchange(random, listed) : []),
  ];
}

const counts: readonly (readonly [number, number])[] = [
  [1, 2],
  [1, 3],
  [4, 4],
];
