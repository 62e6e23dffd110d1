import { describe, expect, test } from 'vitest';
import { attribute } from '../../services/collector/attribute.ts';
import { readConversation } from '../../services/collector/conversation.ts';
import { attributeSettings } from '../../services/collector/settings.ts';
import { assistant, interaction, sessionEnded, user } from '../../services/collector/testing/events.ts';
import { runFold } from '../../services/collector/testing/run-fold.ts';
import { CollectorConfig } from '../../shared/config/collector.ts';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import { asInteractions } from './as-interactions.ts';
import { cutIndex, FEWEST_TRIES, loopCommand, type OpenClawRequests } from './requests.ts';

/** The settings of a new log, so that a new rule is on without a change here. */
const settings = attributeSettings(CollectorConfig.parse({}));

/** Where each interaction went, by its id: `session rule outcome`. All sessions named end after the last of them. */
export function placed(
  events: readonly ClawLoopEvent[],
  sessions: readonly string[],
): Record<string, string> {
  const time = events
    .map((event) => event.time)
    .toSorted()
    .at(-1)!;
  const ends = sessions.map((session) => ({
    ...sessionEnded({ id: `end of ${session}` }, session),
    time,
  }));
  const { emitted } = runFold(attribute, [...events, ...ends], settings);
  return Object.fromEntries(
    emitted.flatMap(({ type, data }) => {
      if (type === 'turn.completed') return [[data.turnId, `${data.session} ${data.rule} completed`]];
      if (type === 'turn.skipped') return [[data.turnId, `${data.session} ${data.rule} ${data.reason}`]];
      return [];
    }),
  );
}

/** Ids of a scenario's requests in a range of places, each with the same value. */
const each = (name: string, from: number, to: number, value: string): Record<string, string> =>
  Object.fromEntries(Array.from({ length: to - from + 1 }, (_, index) => [`${name}-${from + index}`, value]));

/** What the collector makes of OpenClaw's requests. `load` is called when a test runs. */
export function attributionSuite(name: string, load: () => OpenClawRequests): void {
  describe(name, () => {
    test('each request goes to its session by the Runtime line, and to its kind by its text', () => {
      const all = load();
      const of = (scenario: keyof OpenClawRequests) => all[scenario].session;
      const cut = cutIndex(all['cut-history']);
      const tries = all.retries.requests.length;
      const sessions = Object.values(all).flatMap(({ session, childSession }) => [
        session,
        ...(childSession === undefined ? [] : [childSession]),
      ]);
      expect(placed(asInteractions(all), sessions)).toEqual({
        'first-turn-1': `${of('first-turn')} conversation no-next-state`,
        // the tool's result is the next state
        ...each('tool-loop', 1, 2, `${of('tool-loop')} conversation completed`),
        'tool-loop-3': `${of('tool-loop')} conversation no-next-state`,
        // the loop was killed in its last round, and a tool result that OpenClaw made up is no evidence
        ...each('cut-history', 1, cut - 1, `${of('cut-history')} conversation completed`),
        [`cut-history-${cut}`]: `${of('cut-history')} conversation no-next-state`,
        ...each('cut-history', cut + 1, cut + 2, `${of('cut-history')} conversation completed`),
        [`cut-history-${cut + 3}`]: `${of('cut-history')} conversation no-next-state`,
        ...each('retries', 1, tries, `${of('retries')} disconnected aborted`),
        'subagent-1': `${of('subagent')} conversation completed`,
        'subagent-2': `${of('subagent')} conversation no-next-state`,
        'subagent-3': `${all.subagent.childSession} subagent side`,
        'subagent-4': `${of('subagent')} announce side`,
        'qwen-plugin-1': `${of('qwen-plugin')} conversation no-next-state`, // the line is in its system text
      });
    });

    test('without a Runtime line their histories tell them apart', () => {
      const all = load();
      const interactions = asInteractions(all, withoutRuntimeLine);
      expect(interactions.some((one) => readConversation(one).runtime.session !== undefined)).toBe(false);
      const after = cutIndex(all['cut-history']) + 1;
      const tries = all.retries.requests.length;
      const begins = ['first-turn-1', 'tool-loop-1', 'cut-history-1', `cut-history-${after}`, 'retries-1'];
      const sessions = [...begins, 'subagent-1', 'qwen-plugin-1'].map((id) => `chat-${id}`);
      const where = placed(interactions, sessions);
      // a history that was cut goes on where its last answer was given, if that answer is long enough to tell
      const cut = where[`cut-history-${after}`]?.split(' ')[0];
      expect([`chat-cut-history-${after}`, 'chat-cut-history-1']).toContain(cut);
      expect(where).toMatchObject({
        'first-turn-1': 'chat-first-turn-1 conversation no-next-state',
        ...each('tool-loop', 1, 2, 'chat-tool-loop-1 conversation completed'),
        'tool-loop-3': 'chat-tool-loop-1 conversation no-next-state',
        ...each('cut-history', after, after + 1, `${cut} conversation completed`),
        [`cut-history-${after + 2}`]: `${cut} conversation no-next-state`,
        ...each('retries', 1, tries, 'chat-retries-1 disconnected aborted'),
        'subagent-1': 'chat-subagent-1 conversation completed',
        'subagent-2': 'chat-subagent-1 conversation no-next-state',
        'subagent-4': 'chat-subagent-1 announce side',
        'qwen-plugin-1': 'chat-qwen-plugin-1 conversation no-next-state',
      });
      expect(where['subagent-3']).toMatch(/ subagent side$/);
    });

    test('a retry is the same user turn, whatever OpenClaw wraps around the words', () => {
      const all = load();
      const tries = asInteractions(all).filter(({ id }) => id.startsWith('retries-'));
      expect(tries.length).toBeGreaterThanOrEqual(FEWEST_TRIES);
      expect(new Set(tries.map((one) => readConversation(one).prompt)).size).toBe(1);
      const last = tries.at(-1)!;
      const success = interaction({
        id: 'ok',
        time: last.time,
        messages: last.data.messages,
        answer: 'Hello.',
      });
      const original = tries[0]!.data.messages.slice(0, 2); // system text, and the person's words as they were
      const next = interaction({
        id: 'next',
        time: last.time,
        messages: [...original, assistant('Hello.'), user('Thanks.')],
        answer: 'Welcome.',
      });
      expect(placed([...tries, success, next], [])).toMatchObject({
        ok: `${all.retries.session} conversation completed`,
      });
    });

    test("a tool's result is the next state, and OpenClaw's own words are not in it", () => {
      const { emitted } = runFold(attribute, asInteractions(load()), undefined);
      expect(emitted.find(({ id }) => id === 'tool-loop-1/completed')?.data).toMatchObject({
        next: [{ role: 'tool', content: loopCommand.output }],
      });
    });
  });
}

function withoutRuntimeLine(message: ChatMessage): ChatMessage {
  const strip = (text: string) => text.replace(/\n*Runtime: agent=[^\n]*/g, '');
  const { content } = message;
  if (typeof content === 'string') return { ...message, content: strip(content) };
  if (!Array.isArray(content)) return message;
  return {
    ...message,
    content: content.map((part) => (part.text === undefined ? part : { ...part, text: strip(part.text) })),
  };
}
