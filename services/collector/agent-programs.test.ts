import { expect, test } from 'vitest';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import { oil, pans, placed, steel, tools } from './testing/agent-requests.ts';
import { assistant, system, user } from './testing/events.ts';

const inParts = (...texts: readonly string[]): ChatMessage => ({
  role: 'user',
  content: texts.map((text) => ({ type: 'text', text })),
});

test('Claude Code: reminders are not user words, and a compaction is a side request', () => {
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
    second: 's by explicit <- Perfect. A lighter pan?',
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

test("opencode: the title arrives first under the session's name and stays a side request", () => {
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

test('aider: four turns are one session although reminders and files change between them', () => {
  const rules =
    '\n\nTo suggest changes to a file you MUST return the entire content of the updated file.\nUse ...';
  const files = [
    user('I have *added these files to the chat* so you can go ahead and edit them.\n\na.md'),
    assistant('Ok, any changes I propose will be to those files.'),
  ];
  const commit = [user('I committed the changes with git hash 79 & commit msg: docs'), assistant('Ok.')];
  const coder = system('Act as an expert software developer.');
  const withReminder = (words: string) => user(`${words}${rules}`);
  expect(
    placed({
      first: { messages: [coder, ...files, withReminder('Which pan?')], answer: pans },
      second: {
        messages: [
          coder,
          user('Which pan?'),
          assistant(pans),
          ...files,
          withReminder('No, shorter. Which oil?'),
        ],
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
          coder,
          user('Which pan?'),
          assistant(pans),
          user('No, shorter. Which oil?'),
          assistant(oil),
          ...commit,
          ...files,
          withReminder('Perfect, thanks!'),
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

test('Qwen Code: a reminder that is dropped later, and a memory agent that gets the history', () => {
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
