import { z } from 'zod';
import { wishKinds } from '../../shared/wishes/wishes.ts';
import { readTable } from './read-table.ts';

const columns = ['lang', 'style', 'label', 'wish', 'request', 'answer', 'text'] as const;

const wish = z.union([z.enum(wishKinds), z.literal('other')]);

/** `\n` in the table is a line's end. */
const text = z
  .string()
  .min(1)
  .transform((cell) => cell.replaceAll('\\n', '\n'));

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
  request: text,
  answer: text,
  text,
});

/** What somebody wrote after an answer, with a label by hand. */
export type NextMessage = z.output<typeof row>;

/**
 * Corpora by different authors. In `harder-messages`, more messages mislead, such as tasks about complaints. In most
 * others, half of the messages or more say nothing about the answer, as in a person's chats; in `uncommon-messages`
 * they are by people of uncommon trades and walks of life. The last five were written after most of the messages that
 * train the ear. `later-messages` is in Spanish, Portuguese, Chinese and Japanese; `untouched-messages` is in all six
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
  'varied-messages',
] as const;
export type Corpus = (typeof corpora)[number];
/**
 * By another author: messages that say nothing about an answer. New requests, questions, what people tell of
 * themselves, also of their troubles, and what they say to agents.
 */
export const plainCorpus = 'plain-messages';
export const allCorpora = [...corpora, plainCorpus] as const;

/** The messages of a corpus. Throws on a bad row. */
export const readNextMessages = (corpus: (typeof allCorpora)[number]): readonly NextMessage[] =>
  readTable(corpus, columns).map((cells) => row.parse(cells));
