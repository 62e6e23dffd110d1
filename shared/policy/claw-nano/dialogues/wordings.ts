import type { Wishes } from './style.ts';

/** Ways to say one wish: to the assistant, or as a remark about the user. */
export type Wording = {
  readonly weight: number;
  readonly wishes: Wishes;
  /** See wording-pattern.ts. */
  readonly patterns: readonly string[];
  /** In other words than the patterns'; never trained on, to measure how far understanding reaches. */
  readonly unlike: readonly string[];
};

export const singleWordings: readonly Wording[] = [
  {
    weight: 4,
    wishes: { list: false },
    patterns: [
      'No (lists|list|bullet points|bullets)(, please|).',
      'Please no (lists|list|bullet points|bullets).',
      'Without (lists|a list|bullet points)(, please|).',
      "(Please |)(do not|don't|never) (use|write|make|give me) (lists|a list|bullet points|bullets).",
      "I (do not|don't) (like|want|need) (lists|a list|bullet points).",
      'The user (does not want|does not like|dislikes|wants no) (lists|bullet points).',
      '(Please |)(avoid|skip|drop|leave out) (lists|the list|the bullet points|bullets).',
      '(Please |)stop (using|writing|making) (lists|bullet points).',
      '(Please |)(write|answer in|use) (plain|full|normal) sentences( instead of a list|, no list|, not a list|).',
      'The (answer|reply|response) should (not be a list|have no list|not use lists|be in plain sentences).',
      'Just (plain|full) sentences(, please|).',
      '(Please |)(answer|reply) without (a list|lists|bullet points).',
    ],
    unlike: ['I would rather have prose than items one below the other.', 'Put everything in one paragraph.'],
  },
  {
    weight: 4,
    wishes: { greeting: false },
    patterns: [
      'No (greeting|greetings|hello)(, please|).',
      'Please no (greeting|greetings|hello).',
      'Without (a greeting|greetings|a hello)(, please|).',
      "(Please |)(do not|don't|never) (greet me|say hello|say hi|start with a greeting|start with hello).",
      "I (do not|don't) (like|want|need) (greetings|a greeting|a hello).",
      'The user (does not want|does not like|dislikes) (a greeting|greetings).',
      'The user wants no (greeting|hello).',
      '(Please |)(avoid|skip|drop|leave out) (greetings|the greeting|the hello).',
      '(Please |)stop (greeting me|saying hello|saying hi).',
      '(Please |)(start|begin) (directly |right away |)with the answer.',
      'Get straight to the point(, please|).',
      'The (answer|reply|response) should (not start with a greeting|have no greeting|not say hello).',
      '(Please |)(answer|reply) without (a greeting|saying hello|greetings).',
    ],
    unlike: ['There is no need to be polite at the beginning.', 'Cut the pleasantries.'],
  },
  {
    weight: 2,
    wishes: { list: true },
    patterns: [
      '(As|Make it|Give me|Write) a list(, please|).',
      '(Please |)(use|make|write|give me) (lists|a list|bullet points|bullets).',
      '(Please |)always use (lists|bullet points).',
      'I (like|want|prefer|need) (lists|a list|bullet points).',
      'The user (wants|likes|prefers) (lists|a list|bullet points).',
      'The (answer|reply|response) should (be a list|have a list|use bullet points).',
      '(Please |)(answer|reply) (with|in) (a list|bullet points).',
    ],
    unlike: ['One item per line, please.', 'Show the points one below the other.'],
  },
  {
    weight: 2,
    wishes: { greeting: true },
    patterns: [
      '(Please |)(say hello|say hi|greet me) first.',
      '(Please |)(start|begin) with (a greeting|hello|a friendly hello).',
      '(Please |)always (greet me|say hello|start with a greeting).',
      'I (like|want|prefer) (a greeting|greetings|a friendly hello).',
      'The user (wants|likes|prefers) (a greeting|greetings).',
      'The (answer|reply|response) should (start with a greeting|have a greeting|say hello first).',
      '(Please |)greet (me|the user).',
    ],
    unlike: ['Be polite and welcome me.', 'A friendly word at the beginning would be nice.'],
  },
  {
    weight: 3,
    wishes: { long: false, closing: false },
    patterns: [
      '(Please |)keep it (short|brief).',
      '(Please |)be (short|brief|concise).',
      '(A short|A brief|Just a short) answer(, please|).',
      '(Shorter|Short), please.',
      '(Please |)(answer|reply) (briefly|in few words|in a few words).',
      'I (like|want|prefer|need) (short|brief) answers.',
      'The user (wants|likes|prefers) (short answers|a short answer|brief answers).',
      'The (answer|reply|response) should be (short|brief|shorter).',
      '(That is|That was|It is) too long.',
    ],
    unlike: ['I have little time to read.', 'Do not write so much.'],
  },
  {
    weight: 3,
    wishes: { long: true },
    patterns: [
      '(Please |)(give me|write|add) more (detail|details).',
      'More (detail|details), please.',
      '(Please |)(write|give me) a (long|longer|detailed) answer.',
      '(That is|That was|It is) too short.',
      'I (like|want|prefer|need) (long|longer|detailed) answers.',
      'The user (wants|likes|prefers) (more detail|long answers|a long answer|a detailed answer).',
      'The (answer|reply|response) should be (long|longer|detailed).',
      '(A long|A longer|A detailed) answer, please.',
    ],
    unlike: ['Tell me everything that you know.', 'I want to know all about it.'],
  },
  {
    weight: 1,
    wishes: { closing: false },
    patterns: [
      'No (closing line|closing words)(, please|).',
      '(Please |)(skip|avoid|drop|leave out) the closing (line|words).',
      'The user (does not want|dislikes) closing (lines|words).',
      "(Please |)(do not|don't) add (a closing line|closing words).",
    ],
    unlike: ['Spare me the good wishes.', 'Stop when you are done.'],
  },
];

/** Two wishes in one breath; the first pair is the one that people have most often. */
export const pairWordings: readonly Wording[] = [
  {
    weight: 4,
    wishes: { list: false, greeting: false },
    patterns: [
      'No (lists|list|bullet points) and no (greeting|hello)(, please|).',
      'No (greeting|hello) and no (lists|list|bullet points)(, please|).',
      'Please no (lists|list|bullet points) and no (greeting|hello).',
      'No (lists|list), no (greeting|hello)(, please|).',
      '(Please |)(skip|avoid|drop|leave out) (lists and greetings|greetings and lists|the greeting and the list).',
      'Without (lists|a list) (and|or) (a greeting|greetings)(, please|).',
      "(Please |)(do not|don't) (use|write) lists and (do not|don't) (greet me|say hello).",
      '(Please |)skip the greeting and (do not|never) use (lists|bullet points).',
      'The user wants no (list|lists) and no (greeting|hello).',
      'The user (does not want|does not like) lists or greetings.',
      '(Plain|Full) sentences (and no|without a) greeting(, please|).',
      'The (answer|reply|response) should have no list and no greeting.',
    ],
    unlike: ['I want neither lists nor a greeting.', 'Just one plain paragraph and no pleasantries.'],
  },
  {
    weight: 1,
    wishes: { list: true, greeting: false },
    patterns: [
      '(Use|Write|Give me) a list and (skip|drop) the (greeting|hello).',
      '(A list|Bullet points) without a (greeting|hello)(, please|).',
      '(Just|Only) (the list|a list)(, please|).',
      'The user wants (a list|lists) and no greeting.',
    ],
    unlike: ['Only the items, one per line.', 'The points alone, please.'],
  },
  {
    weight: 1,
    wishes: { list: false, long: false, closing: false },
    patterns: [
      '(Keep it short|Be brief) and (do not|never) use lists.',
      '(One|Just one) short sentence(, please|).',
      'Short and without a list(, please|).',
      'The user wants one short sentence.',
    ],
    unlike: ['A line of text is enough.', 'Say it in one go.'],
  },
  {
    weight: 1,
    wishes: { greeting: false, long: false, closing: false },
    patterns: [
      'Short and without a (greeting|hello)(, please|).',
      '(Keep it short|Be brief) and (skip|drop) the (greeting|hello).',
      '(Just|Only) the answer(, please|).',
      'The user wants a short answer without a greeting.',
    ],
    unlike: ['The bare facts, please.', 'Nothing but the facts.'],
  },
];
