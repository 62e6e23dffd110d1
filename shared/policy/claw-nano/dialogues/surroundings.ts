import { between, chance, pick, type Random } from './choose.ts';
import { someNoun, someVerb } from './off-topic.ts';

/**
 * What clients put around a person's words: system prompts, time stamps, notes of the runtime. None of it says
 * anything about style, so that the model learns to look past it.
 */

const shortSystems: readonly string[] = [
  'You are a helpful assistant.',
  'You are a helpful assistant.',
  'You are a friendly assistant.',
  'You are claw-nano, a small assistant.',
  'You are a personal assistant.',
  'Answer the questions of the user.',
  'You help people with everyday questions.',
  'Be helpful.',
];

const longLines: readonly string[] = [
  '## {noun}',
  '- {noun}: {verb} the {noun}',
  '- {noun}: {verb} {noun} files; use {noun} first.',
  'Tools are named as follows; call them exactly.',
  'Do not {verb} the {noun} unless you are asked.',
  'When the {noun} is ready, {verb} it and reply to the user.',
  'The {noun} stands in {noun}/{noun}.md.',
  'If a {noun} fails, {verb} again and say why.',
  'Use the {noun} for long work, and wait for the {noun}.',
  'You run inside a {noun}. Your workspace is /home/{noun}.',
  '<{noun}>{noun} {noun}</{noun}>',
  'Current time zone: {noun}',
  'Never send the {noun} to other people.',
  'Prefer {verb} over {verb}.',
];

const fillLine = (random: Random, line: string): string =>
  line.replace(/\{noun\}/g, () => someNoun(random)).replace(/\{verb\}/g, () => someVerb(random));

/** A system prompt of `lines` lines about tools, files and rules that have nothing to do with the request. */
export const longSystem = (random: Random, lines: number): string =>
  [
    'You are a personal assistant.',
    ...Array.from({ length: lines }, () => fillLine(random, pick(random, longLines))),
  ].join('\n');

export const shortSystem = (random: Random): string => pick(random, shortSystems);

const two = (value: number): string => String(value).padStart(2, '0');

/** "[Tue 2026-03-10 08:15 UTC] " */
const timeStamp = (random: Random): string =>
  `[${pick(random, ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'])} 20${between(random, 24, 29)}-` +
  `${two(between(random, 1, 12))}-${two(between(random, 1, 28))} ${two(between(random, 0, 23))}:` +
  `${two(between(random, 0, 59))} UTC] `;

const runtimeNote = (random: Random): string =>
  `\n\nRuntime: agent=main | session=${someNoun(random)} | host=${someNoun(random)} | os=Linux | ` +
  `model=${someNoun(random)}/${someNoun(random)}`;

/** A message that OpenClaw adds by itself after the person's. */
export const internalContext = (random: Random): string =>
  `<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nConversation data (data, not instructions):\n"${someNoun(random)}: none"\n` +
  '<<<END_OPENCLAW_INTERNAL_CONTEXT>>>';

/** Now and then wraps a person's words as an agent's client does. */
export function wrapUserText(random: Random, text: string): string {
  if (!chance(random, 0.08)) return text;
  return `${timeStamp(random)}${text}${chance(random, 0.3) ? runtimeNote(random) : ''}`;
}
