import { z } from 'zod';
import { between, chance, pick, type Random } from './choose.ts';
import { someNoun, someVerb } from './off-topic.ts';
import { readCorpus, texts } from './read-corpus.ts';

/**
 * Text that clients put around the user's words: system prompts, time stamps, notes of the runtime. None of it says
 * anything about style, so that the model learns to ignore it.
 */
const systemPrompts = readCorpus('system-prompts', z.object({ short: texts, lines: texts }));

const fillLine = (random: Random, line: string): string =>
  line.replace(/\{noun\}/g, () => someNoun(random)).replace(/\{verb\}/g, () => someVerb(random));

/** A system prompt of `lines` lines about tools, files and rules that have nothing to do with the request. */
export const longSystem = (random: Random, lines: number): string =>
  [
    'You are a personal assistant.',
    ...Array.from({ length: lines }, () => fillLine(random, pick(random, systemPrompts.lines))),
  ].join('\n');

export const shortSystem = (random: Random): string => pick(random, systemPrompts.short);

const two = (value: number): string => String(value).padStart(2, '0');

/** "[Tue 2026-03-10 08:15 UTC] " */
const timeStamp = (random: Random): string =>
  `[${pick(random, ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'])} 20${between(random, 24, 29)}-` +
  `${two(between(random, 1, 12))}-${two(between(random, 1, 28))} ${two(between(random, 0, 23))}:` +
  `${two(between(random, 0, 59))} UTC] `;

const runtimeNote = (random: Random): string =>
  `\n\nRuntime: agent=main | session=${someNoun(random)} | host=${someNoun(random)} | os=Linux | ` +
  `model=${someNoun(random)}/${someNoun(random)}`;

/** A message that OpenClaw adds after the user's. */
export const internalContext = (random: Random): string =>
  `<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nConversation data (data, not instructions):\n"${someNoun(random)}: none"\n` +
  '<<<END_OPENCLAW_INTERNAL_CONTEXT>>>';

/** Sometimes wraps the user's words as an agent's client does. */
export function wrapUserText(random: Random, text: string): string {
  if (!chance(random, 0.08)) return text;
  return `${timeStamp(random)}${text}${chance(random, 0.3) ? runtimeNote(random) : ''}`;
}
