import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ChatMessage } from '../../../shared/chat/message.ts';
import type { PromptLimits } from '../../../shared/chat/prompt-limits.ts';
import { CLAW_NANO, modelFolder } from '../../../shared/policy/model/model-folder.ts';
import { loadModelSettings, promptLimits } from '../../../shared/policy/model/model-settings.ts';
import { factsNamed, heldOutQuestions, ON_TOPIC } from '../learning/evaluate.ts';
import { openLearningModel, type Speaker } from '../learning/model.ts';
import { recordedPrompts } from './recorded-prompts.ts';

const QUESTIONS = 32;
const checkout = fileURLToPath(new URL('../../../', import.meta.url));
/** Folders with the recorded requests of real programs; git ignores both. */
const caches = ['.openclaw/requests', '.clients/requests'].map((folder) => join(checkout, folder));

/** Figures of the answers to all questions in one form. */
type Asked = { readonly onTopic: number; readonly tokens: number };

/**
 * Measures how claw-nano answers questions inside an agent program's prompt: the share of answers on topic, with the
 * whole prompt cut to its context, and with the model's own limits. Prints a row for each recorded prompt; the bare
 * questions are the peer.
 */
export async function benchPrompts(folders: readonly string[] = caches): Promise<void> {
  const prompts = recordedPrompts(folders);
  if (prompts.length === 0)
    console.log(`no recordings in ${folders.join(', ')}: npm run record:openclaw makes some`);
  const limits = promptLimits(await loadModelSettings(modelFolder(CLAW_NANO)), undefined);
  const model = await openLearningModel();
  const speaker = model.speaker(0, undefined);
  try {
    console.log(
      row(['program', 'request', 'whole: tokens', 'on topic', 'within limits: tokens', 'on topic']),
    );
    console.log(row(['---', '---', '---:', '---:', '---:', '---:']));
    const bare = ask(speaker, (text) => [{ role: 'user', content: text }], undefined);
    console.log(row(['none: the bare question', '', ...cells(bare), '', '']));
    for (const { program, which, asking } of prompts) {
      const whole = ask(speaker, asking, undefined);
      const within = ask(speaker, asking, limits);
      console.log(row([program, which, ...cells(whole), ...cells(within)]));
    }
  } finally {
    speaker.dispose();
    model.dispose();
  }
}

function ask(
  { ask: answer }: Pick<Speaker, 'ask'>,
  asking: (question: string) => readonly ChatMessage[],
  limits: PromptLimits | undefined,
): Asked {
  const { asked, questions } = heldOutQuestions('prompts', QUESTIONS);
  const replies = answer(
    asked.map(({ text }, index) => ({ messages: asking(text), seed: questions[index]!.seed, limits })),
  );
  const isOnTopic = replies.map(({ text }, index) => factsNamed(text, asked[index]!.facts) >= ON_TOPIC);
  const tokens = replies.reduce((sum, { generated }) => sum + generated.usage.promptTokens, 0);
  return { onTopic: isOnTopic.filter(Boolean).length / replies.length, tokens: tokens / replies.length };
}

const cells = ({ tokens, onTopic }: Asked): readonly string[] => [
  Math.round(tokens).toLocaleString('en-US'),
  `${Math.round(100 * onTopic)} %`,
];
const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

if (import.meta.main) await benchPrompts(process.argv.length > 2 ? process.argv.slice(2) : caches);
