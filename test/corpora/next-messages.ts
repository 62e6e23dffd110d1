import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { wishKinds } from '../../shared/wishes/wishes.ts';

const columns = ['lang', 'style', 'label', 'wish', 'request', 'answer', 'text'] as const;

const wish = z.union([z.enum(wishKinds), z.literal('other')]);

const row = z.object({
  lang: z.enum(['en', 'en-nonnative', 'de', 'es', 'zh', 'fr', 'pt', 'ja']),
  style: z.enum([
    'direct',
    'indirect',
    'sarcastic',
    'polite',
    'terse',
    'task',
    'question',
    'info',
    'agent',
    'machine',
  ]),
  label: z.enum(['good', 'bad', 'neither']),
  /** kinds that are all right for what the person asks for; none where they ask for nothing */
  wish: z.string().transform((text) => (text === '-' ? [] : text.split('/').map((kind) => wish.parse(kind)))),
  request: z.string().min(1),
  answer: z.string().min(1),
  text: z.string().min(1),
});

/** What somebody wrote after an answer, with a label by hand. */
export type NextMessage = z.output<typeof row>;

/**
 * Corpora by different authors. In `harder-messages`, more messages mislead, such as tasks about complaints. In most
 * others, half of the messages or more say nothing about the answer, as in a person's chats; in `uncommon-messages`
 * they are by people of uncommon trades and walks of life. The last four were written after the messages that train
 * the ear. `later-messages` is in Spanish, Portuguese, Chinese and Japanese; `untouched-messages` is in all six
 * languages but English, by people who avoid common phrases.
 */
export const corpora = [
  'next-messages',
  'harder-messages',
  'mixed-messages',
  'everyday-messages',
  'uncommon-messages',
  'fresh-messages',
  'later-messages',
  'untouched-messages',
  'unseen-messages',
] as const;
export type Corpus = (typeof corpora)[number];
/**
 * By another author: messages that say nothing about an answer. New requests, questions, what people tell of
 * themselves, also of their troubles, and what they say to agents.
 */
export const plainCorpus = 'plain-messages';
export const allCorpora = [...corpora, plainCorpus] as const;

/** One line per message, fields between tabs, `\n` for a line's end within a field. Throws on a bad row. */
export function readNextMessages(corpus: (typeof allCorpora)[number]): readonly NextMessage[] {
  const file = new URL(`${corpus}.tsv`, import.meta.url);
  const [header, ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n');
  if (header !== columns.join('\t')) throw new Error(`the columns are ${columns.join(', ')}`);
  return lines.map((line) => {
    const cells = line.split('\t').map((cell) => cell.replaceAll('\\n', '\n'));
    return row.parse(Object.fromEntries(columns.map((column, index) => [column, cells[index]])));
  });
}
