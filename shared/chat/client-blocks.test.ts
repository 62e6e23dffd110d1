import { expect, test } from 'vitest';
import { spokenMessages } from './client-blocks.ts';
import { type ChatMessage, contentText, isInternalContext } from './message.ts';
import { rollingHashes } from './rolling-hash.ts';

const user = (content: ChatMessage['content']): ChatMessage => ({ role: 'user', content });
const assistant = (content: string): ChatMessage => ({ role: 'assistant', content });
const parts = (...texts: readonly string[]) => texts.map((text) => ({ type: 'text', text }));
const said = (content: ChatMessage['content']) => {
  const message = spokenMessages([user(content)])[0]!;
  return isInternalContext(message) ? undefined : contentText(message.content);
};

test('blocks of programs around the words are removed', () => {
  expect(said('<system-reminder>\nbe brief\n</system-reminder>\nShorter, please.')).toBe('Shorter, please.');
  expect(said('Shorter!\n\n<environment_details>\n# Time\n9:00\n</environment_details>')).toBe('Shorter!');
  expect(said(parts('<ide_selection lines="3">x</ide_selection>', 'What is this?'))).toBe('What is this?');
  expect(said('a <bash-input>ls</bash-input> b <bash-stdout>c</bash-stdout>')).toBe('a  b');
  expect(said(parts('[Request interrupted by user]\n', 'How do I wash it?'))).toBe('How do I wash it?');
  expect(said('# Context\n\n## My request for Codex:\nfix it')).toBe('fix it');
  expect(said('Use tabs.\n\n# *SEARCH/REPLACE block* Rules:\nEvery block must ...')).toBe('Use tabs.');
});

test('a message without remaining text becomes empty context', () => {
  for (const text of [
    '<system-reminder>the date changed</system-reminder>',
    '<environment_context>\n<cwd>/x</cwd>\n</environment_context>',
    '<turn_aborted>\nThe user interrupted.\n</turn_aborted>',
    '[Request interrupted by user for tool use]',
    '# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>be kind</INSTRUCTIONS>',
    '[ERROR] You did not use a tool in your previous response! Retry.',
  ])
    expect([text, said(text)]).toEqual([text, undefined]);
});

test('the words of a person stay unchanged, whatever they mention', () => {
  for (const text of [
    'What does <system-reminder> mean in these logs?',
    'Close the </system-reminder> tag, please',
    'a < b and b > c',
    '<context>keep me</context>',
    'I was [Request interrupted by user] all day',
    'Ok.',
    'max_tokens: why is it -1 here?',
    'Automatic tests fail since you changed that.',
    'I ran this command:\n\nmake\n\nand it fails',
    'I switched to a new code base. Start over.',
    '<<EOF is not closed',
    '"quoted words"',
    '',
  ])
    expect(said(text)).toBe(text);
  const messages = [user(parts('a', 'b')), assistant('Ok.'), user('No.')];
  expect(spokenMessages(messages)).toEqual(messages);
});

test('an image beside a block stays', () => {
  const image = { type: 'image_url', image_url: { url: 'data:,' } };
  expect(spokenMessages([user([...parts('<cwd-less/>'), image])])[0]?.content).toHaveLength(2);
  expect(spokenMessages([user([...parts('<skill>x</skill>'), image])])[0]?.content).toEqual([image]);
});

test('only made-up exchanges are left out', () => {
  const history = [
    user('Which pan?'),
    assistant('An iron one.'),
    user('I have *added these files to the chat* so you can go ahead and edit them.\n\na.md'),
    assistant('Ok, any changes I propose will be to those files.'),
    user('Shorter, please.'),
    assistant('Ok.'),
  ];
  const spoken = spokenMessages(history);
  expect(spoken.map(isInternalContext)).toEqual([false, false, true, true, false, false]);
  // so that the history is the one that it was before the files were added
  expect(rollingHashes(spoken).at(-1)).toBe(
    rollingHashes([history[0]!, history[1]!, history[4]!, history[5]!]).at(-1),
  );
});

test('quotes around command line words are removed for programs that add them', () => {
  const opencode = { role: 'system', content: 'You are opencode, an interactive CLI tool.' } as const;
  expect(spokenMessages([opencode, user('"No, shorter."')])[1]?.content).toBe('No, shorter.');
  expect(spokenMessages([opencode, user('"a" and "b"')])[1]?.content).toBe('"a" and "b"');
});

test('unclosed blocks in a long text take linear time', () => {
  const open = '<system-reminder> <cwd> <skill> '.repeat(20_000);
  expect(said(open)).toBe(open);
  const nested = `${'<skill>'.repeat(20_000)}${'</skill>'.repeat(20_000)}`;
  expect(said(nested)?.length).toBeLessThan(nested.length);
});
