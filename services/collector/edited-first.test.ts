import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { attribute } from './attribute.ts';
import {
  assistant,
  callsTool,
  feedback,
  type InteractionGiven,
  interaction,
  responseDeleted,
  sessionEnded,
  system,
  timeAt,
  user,
} from './testing/events.ts';
import { brief, runFold } from './testing/run-fold.ts';

const rules = { atOnce: true, firstEdits: true };
const emittedLines = (
  events: readonly ClawLoopEvent[],
  settings: Parameters<typeof attribute.on>[3] = rules,
) =>
  runFold(attribute, events, settings).emitted.map((fact) => {
    const { implies } = fact.data as { readonly implies?: string };
    return `${brief(fact)}${implies === undefined ? '' : ` (${implies})`}`;
  });

type More = Omit<Partial<InteractionGiven>, 'id' | 'at' | 'messages'>;
/** A first request with these words, whose answer took three seconds and was complete at `at`, minutes. */
const asks = (id: string, at: number, words: string, more: More = {}) =>
  interaction({
    messages: [user(words)],
    answer: `This is answer ${id}.`,
    timing: { startedAt: timeAt(at - 0.05), firstTokenMs: 1, totalMs: 3000 },
    ...more,
    id,
    at,
  });
const moss = 'Tell me about moss.';
const changed = 'Tell me about moss in one line.';
const edited = ['completed a <-  (edited)'];

test('an edited first message refuses the answer to the original', () => {
  const events = [asks('a', 1, moss), asks('b', 2, changed)];
  expect(emittedLines(events)).toEqual(edited);
  expect(emittedLines([...events, ...events])).toEqual(edited);
});

test("an edited first message belongs to the original's conversation, which continues there", () => {
  const next = [user(changed), assistant('This is answer b.'), user('thanks')];
  const events = [
    asks('a', 1, moss),
    asks('b', 2, changed),
    interaction({ id: 'c', at: 3, messages: next, answer: 'welcome' }),
  ];
  const { emitted } = runFold(attribute, events, rules);
  expect(emitted.map(brief)).toEqual(['completed a <- ', 'completed b <- thanks']);
  expect(emitted[1]!.data).toMatchObject({ session: 'chat-a', sessionBy: 'edited' });
});

test('returning to the first answer gives it a next state', () => {
  const next = [user(moss), assistant('This is answer a.'), user('This one was better.')];
  const events = [
    asks('a', 1, moss),
    asks('b', 2, changed),
    interaction({ id: 'c', at: 3, messages: next, answer: 'thanks' }),
  ];
  expect(emittedLines(events)).toEqual([...edited, 'continued a <- This one was better.']);
});

test('a client that names its session must name the same one, but need not take time', () => {
  const named = (session: string): More => ({ session });
  const inOne = [asks('a', 1, moss, named('s')), asks('b', 1.055, changed, named('s'))];
  expect(emittedLines(inOne)).toEqual(edited);
  expect(emittedLines([asks('a', 1, moss, named('s')), asks('b', 2, changed, named('other'))])).toEqual([]);
  expect(emittedLines([asks('a', 1, moss, named('s')), asks('b', 2, changed)])).toEqual([]);
  expect(emittedLines([asks('a', 1, moss), asks('b', 2, changed, named('s'))])).toEqual([]);
});

test('without the setting, an edited first message begins a conversation', () => {
  const events = [asks('a', 1, moss), asks('b', 2, changed)];
  expect(emittedLines(events, { atOnce: true })).toEqual([]);
  expect(emittedLines(events, {})).toEqual([]);
});

test('at most two edits are recognised', () => {
  const texts = [
    moss,
    changed,
    `${changed} And no list please.`,
    `${changed} And no list please, be kind to me.`,
  ];
  const events = texts.map((text, index) => asks(`t${index}`, 1 + index, text));
  expect(emittedLines(events)).toEqual(['completed t0 <-  (edited)', 'completed t1 <-  (edited)']);
});

const wholly: readonly (readonly [string, readonly ClawLoopEvent[]])[] = [
  ['sooner than a person can', [asks('a', 1, moss), asks('b', 1.07, changed)]],
  ['before the first answer was whole', [asks('a', 1, moss), asks('b', 1.02, changed)]],
  ['a quarter of an hour later', [asks('a', 1, moss), asks('b', 16, changed)]],
  ['under another system text', [asks('a', 1, moss), under('b', 2, 'You sort mails.')]],
  ['by another person', [asks('a', 1, moss, { user: 'ann' }), asks('b', 2, changed, { user: 'bob' })]],
  ['with other tools', [asks('a', 1, moss), asks('b', 2, changed, { tools: [{ name: 'search' }] })]],
  ['at another temperature', [asks('a', 1, moss), asks('b', 2, changed, cold())]],
  ['of another access key', [asks('a', 1, moss), asks('b', 2, changed, { key: 'other' })]],
  ['of a fixed version', [asks('a', 1, moss), asks('b', 2, changed, { live: false })]],
  [
    'after an answer that called a tool',
    [asks('a', 1, moss, { answer: callsTool('look') }), asks('b', 2, changed)],
  ],
  [
    'after the end of the chat',
    [asks('a', 1, moss), sessionEnded({ id: 'e', at: 1.5 }, 'chat-a'), asks('b', 2, changed)],
  ],
  [
    'after a deletion',
    [asks('a', 1, moss), responseDeleted({ id: 'd', at: 1.5 }, 'a'), asks('b', 2, changed)],
  ],
  ['after a cut-off answer', [asks('a', 1, moss, { finishReason: 'length' }), asks('b', 2, changed)]],
];
function under(id: string, at: number, text: string) {
  const { data } = asks(id, at, changed);
  return interaction({ ...data, id, at, messages: [system(text), ...data.messages] });
}
function cold(): More {
  return { sampling: { temperature: 0, topP: 1, topK: 0, maxTokens: 64 } };
}

test.each(wholly)('the same words and more, %s, are a separate request', (_, events) => {
  expect(emittedLines(events).filter((line) => line.includes('edited'))).toEqual([]);
});

test('a conversation that continued is not edited by a similar beginning', () => {
  const next = [user(moss), assistant('This is answer a.'), user('And ferns?')];
  const events = [
    asks('a', 1, moss),
    interaction({ id: 'c', at: 1.5, messages: next, answer: 'green' }),
    asks('b', 3, changed),
  ];
  expect(emittedLines(events)).toEqual(['completed a <- And ferns?']);
});

test('an answer with feedback keeps its verdict; the edit implies nothing more', () => {
  const events = [asks('a', 1, moss), feedback({ id: 'f', at: 1.5 }, 'a', 1), asks('b', 2, changed)];
  expect(emittedLines(events)).toEqual(['completed a <- ', 'feedback a: 1']);
});

/** Values that a program puts into its templates; some contain the previous one. */
const values = [
  ['Anna', 'Bob', 'Maria', 'Maria Jones', 'John', 'John Smith'],
  ['17', '18', '19', '18 and 19', '2026'],
  ['Paris', 'Rome', 'New York', 'New York City', 'Rome in Italy'],
  ['iPhone 15', 'iPhone 15 Pro', 'iPhone 15 Pro Max', 'Galaxy S24'],
  ['oak table', 'oak table round', 'glass table', 'steel chair with arms', 'steel chair'],
  ['moss', 'ferns', 'grass and herbs', 'grass', 'trees of the north'],
];
const templates = [
  (value: string) => `Write a birthday card for ${value}.`,
  (value: string) => `Tell me about ${value}`,
  (value: string) => `Translate to French: ${value}`,
  (value: string) => `Summarise what is known of ${value} in one paragraph, for a newsletter.`,
  (value: string) => `You are given an item.\n\nItem: ${value}\n\nAnswer with its price.`,
  (value: string) => `Is "${value}" a good title for a book?`,
  (value: string) => `${value} is what the customer wrote about. Give the category of it in one word.`,
  (value: string) => `Open the record of ${value} and fix the first error that you find there.`,
];
/** ms between an answer and the job's next request, and its requests by named session */
const paces = [0, 500, 2500, 30_000];
const namings: readonly ((index: number) => More)[] = [
  () => ({}),
  () => ({ session: 'job' }),
  (index) => ({ session: `item-${index}` }),
];

test('a job that fills a template with values makes no edits', () => {
  for (const template of templates)
    for (const list of values)
      for (const pace of paces)
        for (const naming of namings) {
          const requests = list.map((value, index) =>
            asks(`t${index}`, 1 + index * (0.05 + pace / 60_000), template(value), naming(index)),
          );
          const lines = emittedLines(requests).filter((line) => line.includes('edited'));
          expect(lines, `${template('...')} ${list[0]} ${pace}`).toEqual([]);
        }
});

test('two requests of a job with names and numbers as values are not edits', () => {
  for (const template of templates)
    for (const list of values.slice(0, 4))
      for (const one of list)
        for (const other of list) {
          const pair = [asks('a', 1, template(one)), asks('b', 2, template(other))];
          const lines = one === other ? [] : emittedLines(pair);
          expect(lines, `${template(one)} ${other}`).toEqual([]);
        }
});

test('plain-word values that contain each other are not edits once a template shows', () => {
  const list = ['moss', 'ferns', 'ferns of the north', 'ferns of the north in winter'];
  const job = (more: More) => list.map((value, i) => asks(`t${i}`, 1 + i, `Tell me about ${value}`, more));
  expect(emittedLines(job({}))).toEqual([]);
  expect(emittedLines(job({ session: 'job' }))).toEqual([]);
});

const short = [
  ['Explain tail recursion', 'Explain tail recursion in functional languages'],
  ['glass table round', 'glass table round with steel legs'],
  ['the food was great', 'the food was great but the service was slow'],
] as const;
test.each(short)('short or missing templates make no edits, either: %s', (value, more) => {
  const job = ['Define net value', value, more, 'steel chair blue'];
  const pace = job.map((text, index) => asks(`t${index}`, 1 + index / 10, text));
  expect(emittedLines(pace)).toEqual([]);
});

test('a person who started another chat may still edit the next one', () => {
  const fern = [user('What is a fern?'), assistant('This is answer x.'), user('And is it green?')];
  const events = [
    asks('x', 1, 'What is a fern?'),
    interaction({ id: 'y', at: 2, messages: fern, answer: 'yes' }),
    asks('a', 3, moss),
    asks('b', 4, changed),
  ];
  expect(emittedLines(events).filter((line) => line.includes('edited'))).toEqual(edited);
});

test('a job that asks each question in two ways makes no edits', () => {
  const questions = [
    'How many legs has a spider?',
    'Which sea lies south of Sweden?',
    'Who wrote the Iliad?',
  ];
  const requests = questions.flatMap((question, index) => [
    asks(`a${index}`, 1 + index / 5, question),
    asks(`b${index}`, 1.1 + index / 5 - 0.05, `${question} Think step by step before you answer.`),
  ]);
  expect(emittedLines(requests)).toEqual([]);
});

test('a program that sends its history as one message makes no edits', () => {
  const turns = ['Tell me about moss', 'This is answer t0.', 'and about ferns please'];
  const first = `Go on with the talk below and be kind. ${turns[0]}`;
  const events = [asks('t0', 1, first), asks('t1', 2, `${first} ${turns[1]} ${turns[2]}`)];
  expect(emittedLines(events)).toEqual([]);
});

test('the memory of first requests is bounded and contains no text', () => {
  const words = ['moss', 'eggs', 'rain', 'iron', 'bees', 'salt', 'wool', 'silk', 'sand', 'snow'];
  const many = words.flatMap((one, i) =>
    words.slice(0, 3).map((other, j) => `${one} or ${other} number ${i} ${j}`),
  );
  const events = many.map((text, index) => asks(`t${index}`, 1 + index / 10, text));
  const rows = runFold(attribute, events, rules).rows.get('lane')!;
  const [, row] = [...rows.entries('first-request/')][0]!;
  expect(row).toHaveLength(16);
  expect(JSON.stringify(row)).not.toMatch(/moss|snow/);
});

test('a deleted first request is not remembered, whichever arrives first', () => {
  const gone = responseDeleted({ id: 'd', at: 2 }, 'a');
  const ferns = asks('b', 1, 'Where do ferns grow?');
  const storedRequests = (events: readonly ClawLoopEvent[]) =>
    [...runFold(attribute, events, rules).rows.get('lane')!.entries('first-request/')].map(([, row]) => row);
  expect(storedRequests([asks('a', 1, moss), gone])).toEqual([]);
  expect(storedRequests([gone, asks('a', 1, moss)])).toEqual([]);
  expect(storedRequests([asks('a', 1, moss), ferns, gone])).toEqual(storedRequests([ferns]));
});

test('a first request is forgotten with its conversation', () => {
  const [day, later] = [26 * 60, 52 * 60];
  const events = [
    asks('a', 1, moss),
    sessionEnded({ id: 'e', at: 2 }, 'chat-a'),
    feedback({ id: 'f', at: day }, 'other', 1),
  ];
  const storedRequests = (all: readonly ClawLoopEvent[]) =>
    [...runFold(attribute, all, rules).rows.get('lane')!.entries('first-request/')].length;
  expect(storedRequests(events)).toBe(1);
  expect(storedRequests([...events, feedback({ id: 'g', at: later }, 'other', 1)])).toBe(0);
});
