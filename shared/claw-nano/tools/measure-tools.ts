import type { SamplingSettings } from '../../policy/decode/sampling.ts';
import type { Random } from '../../policy/model/random.ts';
import { sample } from '../dialogues/choose.ts';
import type { Message } from '../dialogues/dialogue.ts';
import { type Speaker, sampleAnswers } from '../sample-answers.ts';
import { heldOutQuestions, type ShopQuestion, sampleResult, shopTools } from './shop.ts';
import { renderTools } from './tool-dialogue.ts';

/** Shares between 0 and 1 of held-out questions, each asked once with all tools. */
export type ToolMeasurements = {
  readonly questions: number;
  readonly calls: number;
  readonly rightTool: number;
  readonly rightItem: number;
  /** of the calls: the answer states the result */
  readonly rightResult: number;
  /** all of it */
  readonly succeeds: number;
};

const CALL = /^<tool_call>\{"name": "([^"]*)", "arguments": \{"item": "([^"]*)"\}\}<\/tool_call>$/;

type MeasureOptions = {
  readonly random: Random;
  readonly settings: SamplingSettings;
  readonly questions: number;
};

/** Asks held-out questions, returns a random number for each call, and looks for it in the answer. */
export function measureTools(
  speaker: Speaker,
  { random, settings, questions }: MeasureOptions,
): ToolMeasurements {
  const ask = (conversations: readonly (readonly Message[])[]) =>
    sampleAnswers(speaker, conversations, { settings, random, atOnce: 16, maxTokens: 40 });
  const asked = sample(random, heldOutQuestions, questions);
  const openings = asked.map(({ text }): readonly Message[] => [
    { role: 'system', content: renderTools(shopTools) },
    { role: 'user', content: text },
  ]);
  const calls = ask(openings).map(({ text }, index) => readCall(text, asked[index]!));
  const results = asked.map(() => sampleResult(random));
  const going = calls.flatMap((call, index) => (call === undefined ? [] : [{ call, index }]));
  const answers = ask(
    going.map(({ call, index }): readonly Message[] => [
      ...openings[index]!,
      { role: 'assistant', content: call.text },
      { role: 'tool', content: results[index]! },
    ]),
  );
  const states = going.map(({ index }, at) => answers[at]!.text.match(/\d+/)?.[0] === results[index]);
  const share = (count: number) => Number((count / asked.length).toFixed(3));
  return {
    questions: asked.length,
    calls: share(going.length),
    rightTool: share(going.filter(({ call }) => call.isTool).length),
    rightItem: share(going.filter(({ call }) => call.isItem).length),
    rightResult: Number((states.filter(Boolean).length / Math.max(1, going.length)).toFixed(3)),
    succeeds: share(going.filter(({ call }, at) => call.isTool && call.isItem && states[at]).length),
  };
}

function readCall(text: string, { tool, item }: ShopQuestion) {
  const [, name, named] = CALL.exec(text) ?? [];
  return name === undefined ? undefined : { text, isTool: name === tool.name, isItem: named === item };
}
