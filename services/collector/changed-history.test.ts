import { expect, test } from 'vitest';
import { attribute } from './attribute.ts';
import { assistant, callsTool, interaction, toolResult, user } from './testing/events.ts';
import { brief, runFold } from './testing/run-fold.ts';

const call = callsTool('read_file', '{"path":"notes.txt"}');

/** What completes a call, after its client rewrote the beginning of the history. */
function afterTheChange(lastAnswerAlone: boolean, ...then: Parameters<typeof interaction>[0]['messages']) {
  const events = [
    interaction({
      id: 'call',
      session: 's',
      messages: [user('Read my notes. The folder is /tmp.')],
      answer: call,
    }),
    interaction({
      id: 'later',
      session: 's',
      messages: [user('Read my notes.'), call, ...then],
      answer: 'OK.',
    }),
  ];
  return runFold(attribute, events, { clients: true, lastAnswerAlone }).emitted.map(brief);
}

test('words after a short answer do not complete the tool call before it', () => {
  const then = [toolResult('milk, bread'), assistant('Done.'), user('No, that was wrong.')];
  expect(afterTheChange(true, ...then)).toEqual([]);
  expect(afterTheChange(false, ...then)).toEqual(['completed call <- No, that was wrong.']);
});

test('the result of the call completes it', () => {
  expect(afterTheChange(true, toolResult('milk, bread'))).toEqual(['completed call <- milk, bread']);
});
