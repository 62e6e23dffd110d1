import { z } from 'zod';
import { between, pick, type Random, sample } from './choose.ts';
import { readCorpus, texts } from './read-corpus.ts';
import type { Style } from './style.ts';
import type { Entry, Topic } from './topics.ts';

export const { greetings, closings } = readCorpus('answers', z.object({ greetings: texts, closings: texts }));

/** "a", "a and b", "a, b and c". */
function joinItems(items: readonly string[]): string {
  const last = items.at(-1) ?? '';
  return items.length < 2 ? last : `${items.slice(0, -1).join(', ')} and ${last}`;
}

const fill = (template: string, entry: Entry, items: readonly string[] = []): string =>
  capitalise(
    template.replaceAll('{topic}', aboutTheUser(entry.topic)).replaceAll('{items}', joinItems(items)),
  );

/** The user says "my desk"; the assistant speaks of "your desk". */
const aboutTheUser = (topic: string): string => topic.replace(/^my /, 'your ');

const capitalise = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export type Answer = { readonly text: string; readonly items: readonly string[] };

/**
 * One answer about a topic, in the given style: greeting, body, remarks, closing; each list item is on a separate
 * line. It names three items (four if long) that are not in `named`, or fewer if fewer are left.
 */
export function writeAnswer(
  random: Random,
  { family, entry }: Topic,
  style: Style,
  named: readonly string[] = [],
): Answer {
  const left = entry.items.filter((item) => !named.includes(item));
  const items = sample(random, left, style.long ? 4 : 3);
  const greeting = style.greeting ? [pick(random, greetings)] : [];
  const after = [
    ...(style.long ? [entry.tip, pick(random, family.remarks)] : []),
    ...(style.closing ? [pick(random, closings)] : []),
  ].join(' ');
  if (!style.list) {
    const body = fill(pick(random, family.proses), entry, items);
    return { text: [...greeting, body, ...(after === '' ? [] : [after])].join(' '), items };
  }
  const lead = [...greeting, fill(pick(random, family.listLeads), entry)].join(' ');
  const lines = items.map((item, index) => `${style.numbered ? `${index + 1}.` : '-'} ${item}`);
  return { text: [lead, ...lines, ...(after === '' ? [] : [after])].join('\n'), items };
}

/** A short remark before an answer is repeated in another style. */
export const acknowledge = (random: Random): string =>
  between(random, 0, 1) === 0 ? '' : `${pick(random, ['Sure.', 'Of course.', 'All right.', 'Understood.'])} `;
