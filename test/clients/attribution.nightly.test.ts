import { describe, expect, test } from 'vitest';
import { attribute } from '../../services/collector/attribute.ts';
import { attributeSettings } from '../../services/collector/settings.ts';
import { interaction } from '../../services/collector/testing/events.ts';
import { runFold } from '../../services/collector/testing/run-fold.ts';
import { type ChatMessage, isSystem } from '../../shared/chat/message.ts';
import { CollectorConfig } from '../../shared/config/collector.ts';
import { defined } from '../../shared/lang/defined.ts';
import { CLAW_NANO } from '../../shared/policy/model/model-folder.ts';
import { clientNames } from './client.ts';
import { bySomebodyElse, type RecordedRequest, recordedRequests, withTexts } from './recorded-requests.ts';

// Two people alternate with one key, each with a recorded run and without a header that names a session.

type Change = (messages: readonly ChatMessage[], at: number) => readonly ChatMessage[];

const withoutSystem = (messages: readonly ChatMessage[]) => messages.filter((one) => !isSystem(one));
const other = {
  role: 'system',
  content: 'Act as the analyst of a large company; cite figures, mind the law.',
} as const;
const withoutReminders = (text: string) => text.replace(/<system-reminder>[\s\S]*?<\/system-reminder>/g, '');
const bare = (message: ChatMessage) => withTexts(message, withoutReminders);

const changes: Readonly<Record<string, Change>> = {
  'as they came': (messages) => messages,
  'another system text from the third request on': (messages, at) =>
    at < 2 ? messages : [other, ...withoutSystem(messages)],
  'no system text from the third request on': (messages, at) => (at < 2 ? messages : withoutSystem(messages)),
  'no reminders after the first request': (messages, at) => (at < 1 ? messages : messages.map(bare)),
  'the latest three messages alone': (messages) => [
    ...messages.filter(isSystem).slice(0, 1),
    ...withoutSystem(messages).slice(-3),
  ],
};

const settings = attributeSettings(CollectorConfig.parse({ model: CLAW_NANO }));

/** The session of each request; undefined: of none. */
function sessionsOf(people: readonly (readonly RecordedRequest[])[], change: Change) {
  const inTurn = people[0]!.flatMap((_, at) =>
    people.map((requests, person) => [person, at, requests[at]!] as const),
  );
  const events = inTurn.map(([person, at, { messages, tools, answer, aborted, isConversation }], order) =>
    interaction({
      id: `${person}-${at}`,
      at: order,
      answer,
      disconnected: aborted,
      messages: isConversation ? change(messages, at) : messages,
      ...defined({ tools: tools.length === 0 ? undefined : [...tools] }),
    }),
  );
  const { rows } = runFold(attribute, events, settings);
  const turns = [...rows.values()].flatMap((row) => [...row.entries('turn/')]);
  const bySession = new Map(
    turns.map(([name, row]) => [name.split('/').at(-1)!, (row as { session?: string }).session]),
  );
  const asked = inTurn.filter(([, , { isConversation }]) => isConversation);
  return asked.map(([person, at]) => ({ person, session: bySession.get(`${person}-${at}`) }));
}

describe.each(Object.entries(changes))('%s', (name, change) => {
  test.for(clientNames)('%s', (client, { skip }) => {
    const mine = recordedRequests(client);
    skip(mine === undefined, 'npm run record:clients was not run');
    const placed = sessionsOf([mine!, bySomebodyElse(mine!)], change).filter(
      ({ session }) => session !== undefined,
    );
    const people = Map.groupBy(placed, ({ session }) => session);
    const merged = [...people.values()].filter(
      (requests) => new Set(requests.map(({ person }) => person)).size > 1,
    );
    expect(merged).toEqual([]);
    // aider puts its files between the last answer and the person's words, so three messages contain no answer
    if (name === 'the latest three messages alone' && client === 'aider') return;
    const right = [0, 1].flatMap((person) => {
      const own = placed.filter((one) => one.person === person);
      return own.filter(({ session }) => session === own[0]!.session);
    });
    expect(right.length / placed.length).toBeGreaterThanOrEqual(name === 'as they came' ? 1 : 0.85);
  });
});
