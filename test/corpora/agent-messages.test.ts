import { afterAll, beforeAll, expect, test } from 'vitest';
import { attribute } from '../../services/collector/attribute.ts';
import { attributeSettings } from '../../services/collector/settings.ts';
import { assistant, interaction, system, user } from '../../services/collector/testing/events.ts';
import { runFold } from '../../services/collector/testing/run-fold.ts';
import type { Judge } from '../../services/judge/judges/judge.ts';
import { createJudge } from '../../services/judge/judges/judges.ts';
import { observationsOn } from '../../services/judge/reaction.ts';
import { CollectorConfig } from '../../shared/config/collector.ts';
import { JudgeConfig } from '../../shared/config/judge.ts';
import { CLAW_NANO } from '../../shared/policy/model/model-folder.ts';
import { type AgentMessage, readAgentMessages } from './agent-messages.ts';

// 350 messages that programs wrote and 300 of people, by two authors who had seen neither rules nor tests.

type Heard = { readonly message: AgentMessage; readonly side: boolean; readonly verdict: string };

const settings = attributeSettings(CollectorConfig.parse({ model: CLAW_NANO }));
const agent = system('You are a helpful agent that works with the user.');
const asked = user('Which pan do you recommend for eggs?');
let judge: Judge;
let heard: readonly Heard[];

beforeAll(async () => {
  judge = await createJudge(JudgeConfig.parse({ model: CLAW_NANO }));
  const all: Heard[] = [];
  for (const [index, message] of readAgentMessages().entries()) all.push(await hear(message, index));
  heard = all;
});
afterAll(async () => judge?.close?.());

/** What becomes of the message after an answer: its request, and the verdict on that answer. */
async function hear(message: AgentMessage, index: number): Promise<Heard> {
  const answer = `A heavy pan of cast iron, number ${index}, which holds its heat for long.`;
  const own = message.system === undefined ? agent : system(message.system);
  const messages = [own, asked, assistant(answer), user(message.user)];
  const { emitted } = runFold(
    attribute,
    [
      interaction({ id: 'before', messages: [agent, asked], answer }),
      interaction({ id: 'own', at: 1, messages, answer: 'Something else is given as an answer here.' }),
    ],
    settings,
  );
  const side = emitted.some(({ type, data }) => type === 'turn.skipped' && data.turnId === 'own');
  const turn = emitted.find(({ type }) => type === 'turn.completed');
  if (turn?.type !== 'turn.completed') return { message, side, verdict: '' };
  const { vote, hint } = await judge.vote(turn.data, 0, new AbortController().signal);
  const { reaction } = observationsOn(turn.data);
  const verdict = [vote === 1 && 'good', vote === -1 && 'bad', hint && 'hint', reaction].filter(Boolean);
  return { message, side, verdict: verdict.join(' ') };
}

test('no person is lost as a side request', () => {
  expect(heard.filter(({ message, side }) => message.kind === 'person' && side)).toEqual([]);
});

const machines = () => heard.filter(({ message }) => message.kind === 'machine');
const isVerdict = ({ verdict }: Heard) => verdict !== '' && verdict !== 'moved-on';
const isInvented = ({ message }: Heard) => message.program.startsWith('invented');

test('no message of a program that there is becomes a verdict or a hint', () => {
  const real = machines().filter((one) => !isInvented(one));
  expect(real).toHaveLength(270);
  expect(real.filter(isVerdict)).toEqual([]);
  // a weak one: a person's own question, in a program's words
  expect(real.filter(({ verdict }) => verdict === 'moved-on').length).toBeLessThanOrEqual(1);
});

test('of programs that were made up, in the manner of those to come, few do', () => {
  const invented = machines().filter(isInvented);
  expect(invented).toHaveLength(80);
  expect(invented.filter(isVerdict).length).toBeLessThanOrEqual(10);
});
