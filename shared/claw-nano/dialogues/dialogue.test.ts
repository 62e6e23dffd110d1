import { expect, test } from 'vitest';
import { createRandom } from '../../policy/model/random.ts';
import { factsNamed, hasClosing, hasGreeting, hasList, wordCount } from '../style-check.ts';
import { asksOfEachTopic, heldOutAsks } from './ask.ts';
import { type Dialogue, dialogueMessages, generateDialogue, type Turn } from './dialogue.ts';
import { heldOutPrompts } from './held-out-prompts.ts';
import { topics } from './topics.ts';
import { singleInstructions } from './wishes.ts';

const count = 4000;
const random = createRandom('dialogue-test');
const dialogues: readonly Dialogue[] = Array.from({ length: count }, () => generateDialogue(random));
const turns = dialogues.flatMap((dialogue) => dialogue.turns);
const styled = turns.filter((turn) => turn.kind === 'topic' || turn.kind === 'again');

const share = <Value>(values: readonly Value[], holds: (value: Value) => boolean): number =>
  values.filter(holds).length / values.length;

test('equal seeds give equal dialogues, other seeds others', () => {
  const texts = (seed: string): readonly string[] => {
    const source = createRandom(seed);
    return Array.from({ length: 50 }, () => JSON.stringify(generateDialogue(source)));
  };
  expect(texts('a')).toEqual(texts('a'));
  expect(texts('a')).not.toEqual(texts('b'));
});

test('without a wish, half have lists, half greetings, and a quarter neither', () => {
  const free = dialogues
    .map((dialogue) => dialogue.turns[0]!)
    .filter((turn) => turn.kind === 'topic' && Object.keys(turn.wishes).length === 0);
  expect(free.length).toBeGreaterThan(1000);
  expect(share(free, ({ answer }) => hasList(answer))).toBeCloseTo(0.5, 1);
  expect(share(free, ({ answer }) => hasGreeting(answer))).toBeCloseTo(0.5, 1);
  const neither = share(free, ({ answer }) => !hasList(answer) && !hasGreeting(answer));
  expect(neither).toBeGreaterThan(0.2);
  expect(neither).toBeLessThan(0.3);
});

const meets = ({ answer, wishes }: Turn): boolean =>
  (wishes.list === undefined || hasList(answer) === wishes.list) &&
  (wishes.greeting === undefined || hasGreeting(answer) === wishes.greeting) &&
  (wishes.closing === undefined || hasClosing(answer) === wishes.closing);

test('every answer after a wish meets it', () => {
  expect(styled.filter((turn) => !meets(turn))).toEqual([]);
  const wished = styled.filter(({ wishes }) => wishes.list === false && wishes.greeting === false);
  expect(wished.length).toBeGreaterThan(100);
});

test('the traits of a wish match the words of its instruction', () => {
  for (const { text, wishes } of [...singleInstructions('training'), ...singleInstructions('held-out')]) {
    if (
      /\b(?:no|not|without|skip|never|avoid|stop using|don't|neither)\b[^,.]*\b(?:list|lists|bullet points)\b/i.test(
        text,
      )
    ) {
      expect(wishes.list, text).toBe(false);
    }
    if (
      /\b(?:no|not|without|skip|never|avoid|stop|don't|neither)\b[^,.]*\b(?:greet\w*|hello)\b/i.test(text)
    ) {
      expect(wishes.greeting, text).toBe(false);
    }
  }
});

test('short answers have three items, long answers four and more words', () => {
  const short = styled.filter(({ style }) => style!.long === false);
  const long = styled.filter(({ style }) => style!.long);
  expect(share(short, ({ answer, facts }) => factsNamed(answer, facts!) === 3)).toBeGreaterThan(0.99);
  expect(share(long, ({ answer, facts }) => factsNamed(answer, facts!) >= 4)).toBeGreaterThan(0.99);
  const mean = (of: readonly Turn[]): number =>
    of.reduce((sum, { answer }) => sum + wordCount(answer), 0) / of.length;
  expect(mean(long)).toBeGreaterThan(mean(short) + 8);
});

test('every answer consists of whole sentences', () => {
  for (const { answer } of turns) {
    expect(answer).toMatch(/^[A-Z]/);
    expect(answer).not.toMatch(/[{}]|undefined| {2}|\bmy (?:mother|father|best|grandmother|desk)/);
    const last = answer.split('\n').at(-1)!;
    expect(last, answer).toMatch(hasList(last) ? /\w$/ : /[.!?]$/);
  }
});

test('roles alternate except for client notes, and the assistant is last', () => {
  for (const dialogue of dialogues) {
    const roles = dialogueMessages(dialogue).map(({ role }) => role);
    expect(roles.at(-1)).toBe('assistant');
    const pattern = dialogue.internal === undefined ? /^(?:s)?(?:ua)+$/ : /^(?:s)?(?:ua)*uua$/;
    expect(roles.map((role) => role[0]).join('')).toMatch(pattern);
  }
});

test('held-out prompts depend on the seed, and no training dialogue has them', () => {
  const prompts = heldOutPrompts(1, 32);
  expect(new Set(prompts.map(({ text }) => text)).size).toBe(32);
  expect(heldOutPrompts(1, 32)).toEqual(prompts);
  expect(heldOutPrompts(2, 32)).not.toEqual(prompts);
  expect(() => heldOutPrompts(1, 10_000)).toThrow(RangeError);
  const said = turns.map(({ user }) => user.toLowerCase());
  for (const { text } of heldOutAsks) {
    expect(said.some((user) => user.includes(text.toLowerCase().replace(/[.?!]$/, '')))).toBe(false);
  }
});

test('training has at least three wordings for every topic', () => {
  for (const topic of topics) {
    const heldOut = heldOutAsks.filter((ask) => ask.topic === topic).length;
    expect(topic.family.asks.length - heldOut, topic.id).toBeGreaterThanOrEqual(3);
    expect(topic.entry.items.length, topic.id).toBeGreaterThanOrEqual(5);
    expect(new Set(topic.entry.items).size).toBe(topic.entry.items.length);
  }
});

test('held-out wordings never occur, and every wish has wordings of each kind', () => {
  const kinds = (['training', 'held-out', 'unlike'] as const).map((kind) => singleInstructions(kind));
  const wishesOf = (of: (typeof kinds)[number]): readonly string[] =>
    [...new Set(of.map(({ wishes }) => JSON.stringify(wishes)))].sort();
  expect(wishesOf(kinds[0]!)).toEqual(wishesOf(kinds[1]!));
  expect(wishesOf(kinds[0]!)).toEqual(wishesOf(kinds[2]!));
  const training = new Set(kinds[0]!.map(({ text }) => text));
  const never = [...kinds[1]!, ...kinds[2]!].map(({ text }) => text).filter((text) => text.length > 30);
  expect(never.filter((text) => training.has(text))).toEqual([]);
  const systems = dialogues.map(({ system }) => system ?? '');
  expect(never.filter((text) => systems.some((system) => system === text))).toEqual([]);
});

test('one request per topic, none of them held out', () => {
  const asks = asksOfEachTopic();
  expect(asks).toHaveLength(topics.length);
  asks.forEach((ask, index) => {
    expect(ask).toContain(topics[index]!.entry.topic);
  });
  const heldOut = new Set(heldOutAsks.map(({ text }) => text));
  expect(asks.filter((ask) => heldOut.has(ask))).toEqual([]);
});
