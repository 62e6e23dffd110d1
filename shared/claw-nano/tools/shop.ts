import { z } from 'zod';
import { between, pick, type Random } from '../dialogues/choose.ts';
import { isHeldOut } from '../dialogues/held-out.ts';
import { readCorpus, texts } from '../dialogues/read-corpus.ts';

const shopSchema = z.object({
  items: texts,
  tools: z
    .array(z.object({ name: z.string(), description: z.string(), asks: texts, answers: texts }))
    .readonly(),
});

/** A tool takes the name of an item, and answers with a number. */
export type ShopTool = z.output<typeof shopSchema>['tools'][number];

/** What the questions of a small shop are about, and the tools that answer them. */
export const { items: shopItems, tools: shopTools } = readCorpus('shop', shopSchema);

/** A question that one call of one tool answers. */
export type ShopQuestion = { readonly text: string; readonly tool: ShopTool; readonly item: string };

/** Every wording of every question about every item. */
const allQuestions: readonly ShopQuestion[] = shopTools.flatMap((tool) =>
  shopItems.flatMap((item) => tool.asks.map((ask) => ({ text: ask.replaceAll('{item}', item), tool, item }))),
);

/** One in seven questions, which no training conversation has. */
export const heldOutQuestions: readonly ShopQuestion[] = allQuestions.filter(({ text }) => isHeldOut(text));

export const trainedQuestions: readonly ShopQuestion[] = allQuestions.filter(({ text }) => !isHeldOut(text));

export const sampleQuestion = (random: Random): ShopQuestion => pick(random, trainedQuestions);

/** What a tool may answer. */
export const sampleResult = (random: Random): string => String(between(random, 2, 99));

/** An item that the question does not name. */
export const anotherItem = (random: Random, item: string): string =>
  pick(
    random,
    shopItems.filter((each) => each !== item),
  );

/** The answer to a question, given the number that a tool returned. */
export const writeShopAnswer = (random: Random, { tool, item }: ShopQuestion, result: string): string =>
  pick(random, tool.answers).replaceAll('{item}', item).replaceAll('{result}', result);
