import { expect, test } from 'vitest';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import { SECRET_RULES_VERSION } from '../../shared/secrets/secret-rules.ts';
import { assemble } from './assemble.ts';
import { attribute } from './attribute.ts';
import { assistant, callsTool, interaction, judgment, turnCompleted, user } from './testing/events.ts';
import { runFold } from './testing/run-fold.ts';

const token = `gh${'p_'}aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5`;
const rule = `github-token@${SECRET_RULES_VERSION}`;
const hi = [user('hi')];

test.each<[where: string, answer: ChatMessage]>([
  ['the words', assistant(`Your token is ${token}.`)],
  ['one of several parts', { role: 'assistant', content: [{ type: 'text', text: `Use ${token}` }] }],
  ['a tool call', callsTool('push', JSON.stringify({ header: `token ${token}\n` }))],
  ['the reasoning', { ...assistant('Done.'), reasoning_content: `They gave me ${token}, so` }],
])('a secret in %s of an answer skips the turn, and no event repeats it', (_, answer) => {
  const { emitted, rows } = runFold(
    attribute,
    [
      interaction({ id: 'a', messages: hi, answer }),
      interaction({ id: 'b', messages: [...hi, answer, user('thanks')], answer: 'welcome' }),
    ],
    {},
  );
  expect(emitted).toHaveLength(1);
  expect(emitted[0]).toMatchObject({ type: 'turn.skipped', data: { turnId: 'a', reason: 'secret', rule } });
  expect(JSON.stringify(emitted)).not.toContain(token);
  expect(JSON.stringify([...rows.get('lane')!.entries('')])).not.toContain(token);
});

test('a secret from a person does not keep an answer without it from training', () => {
  const messages = [user(`My token is ${token}.`)];
  const { emitted } = runFold(
    attribute,
    [
      interaction({ id: 'a', messages, answer: 'Never share it.' }),
      interaction({
        id: 'b',
        messages: [...messages, assistant('Never share it.'), user('right')],
        answer: 'ok',
      }),
    ],
    {},
  );
  expect(emitted.map(({ type }) => type)).toEqual(['turn.completed']);
});

test('a secret in a hint drops the sample, and its session continues', () => {
  const hints = ['Answer in prose.', `Take ${token} instead of the other one.`];
  const events = [turnCompleted('a'), turnCompleted('b'), judgment('a', -1, { hints }), judgment('b', 1)];
  const { emitted } = runFold(assemble, events, { atLeastOne: true, method: 'combine' });
  expect(emitted).toHaveLength(2);
  expect(emitted[0]).toMatchObject({
    type: 'sample.dropped',
    data: { sampleId: 'a', reason: 'secret', rule },
  });
  expect(emitted[1]).toMatchObject({ type: 'sample.ready', data: { sampleId: 'b' } });
  expect(JSON.stringify(emitted)).not.toContain(token);
});
