import { expect, test } from 'vitest';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import { attribute } from './attribute.ts';
import { helperKind } from './helper-prompts.ts';
import { oil, pans, placed, type Step, steel, tools } from './testing/agent-requests.ts';
import { assistant, callsTool, interaction, system, toolResult, user } from './testing/events.ts';
import { brief, runFold } from './testing/run-fold.ts';

test('an answer identifies its session in a cut history, unless two sessions gave it', () => {
  const agent = system('You help with whatever comes up.');
  const first = (words: string): ChatMessage[] => [agent, user(words)];
  const cut = (...messages: ChatMessage[]): Step => ({ messages: [agent, ...messages], answer: steel });
  expect(
    placed({
      one: { messages: first('Which pan?'), answer: pans },
      other: { messages: first('Which oil?'), answer: oil },
      cut: cut(assistant(pans), user('No, shorter.')),
      twin: { messages: first('Any oil?'), answer: oil },
      unclear: { messages: [agent, user('(cut)'), assistant(oil), user('And for fish?')], answer: pans },
    }),
  ).toEqual({ one: 'chat-one by new <- No, shorter.' });
});

test('shared examples in a prompt do not join sessions', () => {
  const example = [user('Change the greeting.'), assistant('I changed it from "Hello" to "Hey".')];
  const after = (...messages: ChatMessage[]) => [system('You write code.'), ...example, ...messages];
  expect(
    placed({
      mine: { messages: after(user('Which pan?')), answer: pans },
      theirs: { messages: after(user('Which oil?')), answer: oil },
      // One person asks again.
      again: { messages: after(user('Which oil?')), answer: 'Any that stands high heat will do.' },
      next: { messages: after(user('Which pan?'), assistant(pans), user('No.')), answer: steel },
      last: { messages: after(user('Which oil?'), assistant(oil), user('Good.')), answer: steel },
    }),
  ).toEqual({
    mine: 'chat-mine by new <- No.',
    // Asking for another answer is enough evidence.
    theirs: 'chat-theirs by new <- ',
    again: 'chat-theirs superseded conversation',
  });
});

test('the same first words under another system text are another session', () => {
  const steps = {
    one: { messages: [system('You are a cook who answers in verse.'), user('Which pan?')], answer: pans },
    other: { messages: [system('Translate into German, word by word.'), user('Which pan?')], answer: oil },
    again: {
      messages: [
        system('Translate into German, word by word.'),
        user('Which pan?'),
        assistant(oil),
        user('No, wrong.'),
      ],
      answer: steel,
    },
  };
  expect(placed(steps)).toEqual({ other: 'chat-other by new <- No, wrong.' });
});

const verse = system('You are a cook who answers in verse, and never speaks of prices.');
const prose = system('Act as the analyst of a large company; be exact, cite your figures.');

test('a system text replaced in mid-conversation costs no turn if the tools stay', () => {
  expect(
    placed({
      one: { messages: [verse, user('Which pan?')], answer: pans, tools },
      two: { messages: [prose, user('Which pan?'), assistant(pans), user('Which oil?')], answer: oil, tools },
      three: {
        messages: [
          prose,
          user('Which pan?'),
          assistant(pans),
          user('Which oil?'),
          assistant(oil),
          user('Good.'),
        ],
        answer: steel,
        tools,
      },
    }),
  ).toEqual({ one: 'chat-one by new <- Which oil?', two: 'chat-one by history <- Good.' });
});

test('without tools it costs one turn; a helper with the history stays a side request', () => {
  const history = [user('Which pan?'), assistant(pans)];
  expect(
    placed({
      one: { messages: [verse, user('Which pan?')], answer: pans },
      helper: { messages: [prose, ...history, user('Rate it.')], answer: 'I rate that answer 7 of 10.' },
      helperAgain: {
        messages: [prose, ...history, user('Rate it again.')],
        answer: 'Still 7 of 10, I think.',
      },
      two: { messages: [verse, ...history, user('Which oil?')], answer: oil },
      replaced: {
        messages: [prose, ...history, user('Which oil?'), assistant(oil), user('Good. A lighter one?')],
        answer: steel,
      },
      three: {
        messages: [
          prose,
          ...history,
          user('Which oil?'),
          assistant(oil),
          user('Good. A lighter one?'),
          assistant(steel),
          user('Thanks!'),
        ],
        answer: 'You are welcome to all of it.',
      },
    }),
  ).toEqual({
    one: 'chat-one by new <- Which oil?',
    helper: 'chat-one side other-system',
    helperAgain: 'chat-one side other-system',
    two: 'chat-one by history <- Good. A lighter one?',
    replaced: 'chat-one side other-system',
  });
});

test("a subagent under the session's name stays a side request while the main line waits", () => {
  const session = 's';
  const task = [prose, user('Find all pans in the catalogue.')];
  expect(
    placed({
      one: { messages: [verse, user('Which pan?')], answer: callsTool('task'), session, tools },
      sub: { messages: task, answer: callsTool('search', '{"q":"pans"}'), session },
      subAgain: {
        messages: [...task, callsTool('search', '{"q":"pans"}'), toolResult('3 pans')],
        answer: 'There are three pans in it.',
        session,
      },
      two: {
        messages: [verse, user('Which pan?'), callsTool('task'), toolResult('three pans')],
        answer: pans,
        session,
        tools,
      },
    }),
  ).toEqual({
    sub: 's side other-system',
    subAgain: 's side other-system',
    one: 's by explicit <- three pans',
  });
});

test('long instructions about the conversation are helpers; people who mention it are not', () => {
  const machine =
    'Summarize the conversation above in at most five bullet points.\nDo not include greetings. Respond only with the summary, ' +
    'and preserve all file names that the user mentioned, so that another model can continue the session.';
  const person =
    'Could you write a summary of the meeting notes that I pasted above, please? My boss wants to read it before the session ' +
    'tomorrow, and last time the text was too long for her, so keep it to one page.';
  expect(helperKind('', machine)).toBe('helper');
  expect(helperKind('', person)).toBeUndefined();
  for (const words of [
    'Please summarize our conversation so far.',
    'Please write a 5-10 word title for my talk about sourdough, for a printed programme.',
    'Please generate a concise title for this essay.',
    'Your task is to create a detailed summary of this paper. Keep every number.',
    'Based on the following git diff, generate a concise changelog for people who use the app.',
    'Give me JSON with the title and a summary of each chapter, nothing else, at most 20 words each.',
  ])
    expect([words, helperKind('', words)]).toEqual([words, undefined]);
});

test('without the setting, logs fold as before', () => {
  const steps = [
    interaction({ id: 'a', messages: [user('<skill>x</skill>Which pan?')], answer: pans }),
    interaction({
      id: 'b',
      at: 1,
      answer: oil,
      messages: [user('<skill>x</skill>Which pan?'), assistant(pans), user('<skill>x</skill>No.')],
    }),
  ];
  const { emitted } = runFold(attribute, steps, { atOnce: true, firstEdits: true });
  expect(emitted.map(brief)).toEqual(['completed a <- <skill>x</skill>No.']);
});
