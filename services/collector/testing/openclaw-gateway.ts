import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import { attribute } from '../attribute.ts';
import { system, user } from './events.ts';
import { brief, runFold } from './run-fold.ts';

/** Side requests of OpenClaw's gateway, in the formats that it was observed to send. */
export const rules = system('You help a person with whatever comes up at home and at work.');
export const date = '[Sat 2026-11-21 17:16 UTC] ';
export const runtime = (session: string, id?: string) =>
  `Runtime: agent=main | session=agent:main:${session} |${id === undefined ? '' : ` sessionId=${id} |`} model=tier/m`;
/** the `Runtime:` line of the conversation that most of these tests use */
export const runtimeLine = runtime('chat-a', 'sid-a');
export const dated = (words: string) => user(`${date}${words}`);
export const first = (words: string, line: string | undefined = '') =>
  user(`${date}${words}\n\n${line}`.trimEnd());
export const context: ChatMessage = {
  role: 'user',
  content: [
    {
      type: 'text',
      text: '<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nnone\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>',
    },
  ],
};
export const trace = (digit: string) => `00-${digit.repeat(32)}-${'1'.repeat(16)}-01`;

/** `session rule` by interaction, and the emitted events in order. */
export function follow(events: readonly ClawLoopEvent[]) {
  const { emitted, rows } = runFold(attribute, events, undefined);
  const places = Object.fromEntries(
    emitted.flatMap(({ type, data }) =>
      type === 'turn.completed' || type === 'turn.skipped'
        ? [[data.turnId, `${data.session ?? '-'} ${data.rule}`]]
        : [],
    ),
  );
  return { places, lines: emitted.map(brief), rows };
}

export const summary = 'The person likes teal and asked what goes with it.';
export const compacted = (line: string | undefined): ChatMessage => ({
  role: 'user',
  content: [
    {
      type: 'text',
      text: `The conversation history before this point was compacted into the following summary:\n\n<summary>\n## Decisions\nNothing was decided yet.\n\n${summary}\n</summary>`,
    },
    ...(line === undefined ? [] : [{ type: 'text', text: line }]),
  ],
});
