import { expect, test } from 'vitest';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import { attribute } from './attribute.ts';
import { helperKind } from './helper-prompts.ts';
import {
  assistant,
  callsTool,
  type InteractionGiven,
  interaction,
  system,
  toolResult,
  user,
} from './testing/events.ts';
import { brief, runFold } from './testing/run-fold.ts';

/** The shapes of requests as these programs send them, in words of our own. */
const settings = { atOnce: true, firstEdits: true, clients: true };

const inParts = (...texts: readonly string[]): ChatMessage => ({
  role: 'user',
  content: texts.map((text) => ({ type: 'text', text })),
});

type Step = Omit<InteractionGiven, 'id'>;

/** `session rule`, then the next state, of each request by its name. */
function placed(steps: Readonly<Record<string, Step>>): Readonly<Record<string, string>> {
  const events = Object.entries(steps).map(([id, step], at) => interaction({ id, at, ...step }));
  const { emitted } = runFold(attribute, events, settings);
  return Object.fromEntries(
    emitted.flatMap((event) => {
      const { type, data } = event;
      if (type === 'turn.completed')
        return [[data.turnId, `${data.session} by ${data.sessionBy} <- ${brief(event).split(' <- ')[1]}`]];
      return type === 'turn.skipped' ? [[data.turnId, `${data.session} ${data.reason} ${data.rule}`]] : [];
    }),
  );
}

const pans = 'A heavy pan keeps its heat for long, and browns meat evenly.';
const oil = 'Rapeseed oil is a good choice, since it stands high heat.';
const steel = 'Carbon steel is lighter than cast iron, and as good.';
const tools = ['read', 'write'].map((name) => ({ type: 'function', function: { name } }));

test('Claude Code: reminders are nobody, and a compaction is beside the conversation', () => {
  const first = inParts('<system-reminder>\nthe branch is main\n</system-reminder>', 'Which pan?');
  const agent = system('You are an agent working with the user.');
  const rules =
    'CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\nYour task is a detailed summary.';
  expect(
    placed({
      title: {
        messages: [
          system('x-header: 1\nYou are naming a coding session.'),
          user('<session>\nWhich pan?\n</session>'),
        ],
        answer: '{"title":"Pans"}',
        session: 's',
      },
      first: { messages: [agent, first], answer: pans, session: 's', tools },
      second: {
        messages: [agent, first, assistant(pans), user('No, shorter. Which oil?')],
        answer: oil,
        session: 's',
        tools,
      },
      compaction: {
        messages: [
          agent,
          first,
          assistant(pans),
          user('No, shorter. Which oil?'),
          assistant(oil),
          user(rules),
        ],
        answer: '<analysis>.</analysis>\n<summary>\nThey asked about pans and oil.\n</summary>',
        session: 's',
        tools,
      },
      after: {
        messages: [
          agent,
          user(
            'This session is being continued from a previous conversation.\nThey asked about pans and oil.',
          ),
          assistant(oil),
          inParts(
            '<command-name>/compact</command-name>',
            '<local-command-stdout>Compacted</local-command-stdout>',
            'Perfect. A lighter pan?',
          ),
        ],
        answer: steel,
        session: 's',
        tools,
      },
    }),
  ).toEqual({
    title: 's side title',
    first: 's by explicit <- No, shorter. Which oil?',
    compaction: 's side compaction',
    second: 's by explicit <- [object Object]',
  });
});

const environment = user('<environment_context>\n  <cwd>/x</cwd>\n</environment_context>');

test('Codex without its headers: the summary leads back to the session', () => {
  const codex = system('You are a coding agent running in a terminal.');
  const checkpoint = user('You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary.');
  const summary = 'They asked about pans, and were told of cast iron.';
  const handed = `Another language model started to solve this problem and produced a summary. Use it:\n${summary}`;
  const before = [codex, environment, user('Which pan?')];
  expect(
    placed({
      first: { messages: before, answer: pans, tools },
      compaction: { messages: [...before, assistant(pans), checkpoint], answer: summary },
      after: {
        messages: [codex, user('Which pan?'), environment, user(handed), user('Which oil?')],
        answer: oil,
        tools,
      },
      last: {
        messages: [
          codex,
          user('Which pan?'),
          user(handed),
          user('Which oil?'),
          assistant(oil),
          user('Thanks!'),
        ],
        answer: steel,
        tools,
      },
    }),
  ).toEqual({ compaction: 'chat-first side compaction', after: 'chat-first by summary <- Thanks!' });
});

test('opencode: the title comes first under the name of the session, and stays beside it', () => {
  const agent = system('You are opencode, an interactive CLI tool.');
  const title = system('You are a title generator. You output ONLY a thread title.');
  const session = 'ses_1';
  expect(
    placed({
      title: {
        messages: [title, user('Generate a title for this conversation:\n'), user('Which pan?')],
        answer: 'Pans for every day',
        session,
      },
      first: { messages: [agent, user('Which pan?')], answer: pans, session, tools },
      second: {
        messages: [agent, user('Which pan?'), assistant(pans), user('"No, shorter."')],
        answer: oil,
        session,
        tools,
      },
    }),
  ).toEqual({ title: 'ses_1 side title', first: 'ses_1 by explicit <- No, shorter.' });
});

test('aider: four turns are one session, though the reminder goes and files come between', () => {
  const rules =
    '\n\nTo suggest changes to a file you MUST return the entire content of the updated file.\nUse ...';
  const files = [
    user('I have *added these files to the chat* so you can go ahead and edit them.\n\na.md'),
    assistant('Ok, any changes I propose will be to those files.'),
  ];
  const commit = [user('I committed the changes with git hash 79 & commit msg: docs'), assistant('Ok.')];
  const coder = system('Act as an expert software developer.');
  const asked = (words: string) => user(`${words}${rules}`);
  expect(
    placed({
      first: { messages: [coder, ...files, asked('Which pan?')], answer: pans },
      second: {
        messages: [coder, user('Which pan?'), assistant(pans), ...files, asked('No, shorter. Which oil?')],
        answer: oil,
      },
      message: {
        messages: [
          system('You are an expert software engineer that generates concise, one-line Git commit messages'),
          user('diff --git a/note.txt'),
        ],
        answer: 'docs: name an oil',
      },
      third: {
        messages: [
          ...[coder, user('Which pan?'), assistant(pans), user('No, shorter. Which oil?'), assistant(oil)],
          ...[...commit, ...files, asked('Perfect, thanks!')],
        ],
        answer: steel,
      },
    }),
  ).toEqual({
    first: 'chat-first by new <- No, shorter. Which oil?',
    message: 'undefined side helper',
    second: 'chat-first by history <- Perfect, thanks!',
  });
});

test('Qwen Code: a reminder that is left out later, and a memory agent that is given the history', () => {
  const agent = system('You are Qwen Code, a CLI agent.');
  const dated = user('<system-reminder>\nThe current date is: Monday\n</system-reminder>');
  const memory = system('You are now acting as the managed memory extraction subagent. Read the history.');
  expect(
    placed({
      first: { messages: [agent, dated, user('Which pan?')], answer: pans, tools },
      memory: {
        messages: [memory, dated, user('Which pan?'), assistant(pans), user('Write what lasts into a file.')],
        answer: 'Nothing lasts that was said here.',
      },
      second: {
        messages: [agent, user('Which pan?'), assistant(pans), user('No, shorter.')],
        answer: oil,
        tools,
      },
    }),
  ).toEqual({ memory: 'chat-first side helper', first: 'chat-first by new <- No, shorter.' });
});

test('an answer tells its session where the history was cut before it, but not if two sessions gave it', () => {
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

test('examples in a prompt, the same for everybody, join nobody', () => {
  const example = [user('Change the greeting.'), assistant('I changed it from "Hello" to "Hey".')];
  const after = (...messages: ChatMessage[]) => [system('You write code.'), ...example, ...messages];
  expect(
    placed({
      mine: { messages: after(user('Which pan?')), answer: pans },
      theirs: { messages: after(user('Which oil?')), answer: oil },
      // and one who asks again is one person
      again: { messages: after(user('Which oil?')), answer: 'Any that stands high heat will do.' },
      next: { messages: after(user('Which pan?'), assistant(pans), user('No.')), answer: steel },
      last: { messages: after(user('Which oil?'), assistant(oil), user('Good.')), answer: steel },
    }),
  ).toEqual({
    mine: 'chat-mine by new <- No.',
    // another answer was asked for, which says enough
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
        ...[system('Translate into German, word by word.'), user('Which pan?')],
        ...[assistant(oil), user('No, wrong.')],
      ],
      answer: steel,
    },
  };
  expect(placed(steps)).toEqual({ other: 'chat-other by new <- No, wrong.' });
});

const verse = system('You are a cook who answers in verse, and never speaks of prices.');
const prose = system('Act as the analyst of a large company; be exact, cite your figures.');

test('a system text that is replaced in mid-conversation costs no turn where the tools stay', () => {
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

test('without tools it costs one turn; a helper with the history stays beside the conversation', () => {
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
          ...[prose, ...history, user('Which oil?'), assistant(oil), user('Good. A lighter one?')],
          ...[assistant(steel), user('Thanks!')],
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

test('a subagent under the name of the session stays beside it, while the main line waits for its call', () => {
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

test('long instructions about the conversation itself are helpers; people who speak of one are not', () => {
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

test('logs of earlier programs fold as they were: nothing of this without its setting', () => {
  const steps = [
    interaction({ id: 'a', messages: [user('<skill>x</skill>Which pan?')], answer: pans }),
    interaction({
      ...{ id: 'b', at: 1, answer: oil },
      messages: [user('<skill>x</skill>Which pan?'), assistant(pans), user('<skill>x</skill>No.')],
    }),
  ];
  const { emitted } = runFold(attribute, steps, { atOnce: true, firstEdits: true });
  expect(emitted.map(brief)).toEqual(['completed a <- <skill>x</skill>No.']);
});
