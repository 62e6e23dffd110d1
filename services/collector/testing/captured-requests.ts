import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { isInternalContext } from '../../../shared/chat/message.ts';
import { type ChatMessage, chatMessage } from '../../../shared/events/chat-message.ts';
import type { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import { interaction } from './events.ts';

/** Requests that the real OpenClaw client sent. They stand beside the checkout, not in it. */
const folder = new URL('../../../../shared/fixtures/openclaw/', import.meta.url);

export const hasCapturedRequests = existsSync(folder) || process.env.CLAWLOOP_REQUIRE_ALL === '1';

const capture = z.object({
  requests: z.array(
    z.object({
      n: z.int(),
      t: z.string(),
      outcome: z.string(),
      headers: z.record(z.string(), z.string()),
      body: z.looseObject({
        // a capture says `(elided)` where its middle was cut out
        messages: z.array(z.looseObject({ role: z.string() })),
        tools: z.array(z.unknown()).optional(),
      }),
    }),
  ),
});
type Captured = z.output<typeof capture>['requests'][number];

export type Rewrite = (message: ChatMessage) => ChatMessage;

/**
 * The requests as interactions, in order, named by their number; each answer is the one that the next request
 * which repeats its history shows, else `(end)`.
 */
export function capturedInteractions(
  rewrite: Rewrite = (message) => message,
): readonly InteractionCompleted[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .flatMap((name) => {
      const { requests } = capture.parse(JSON.parse(readFileSync(new URL(name, folder), 'utf8')));
      return requests.map((request, index) => toInteraction(request, requests.slice(index + 1), rewrite));
    });
}

const messagesOf = ({ body }: Captured): readonly ChatMessage[] =>
  body.messages.filter(({ role }) => role !== '(elided)').map((message) => chatMessage.parse(message));

function toInteraction(
  request: Captured,
  later: readonly Captured[],
  rewrite: Rewrite,
): InteractionCompleted {
  const messages = messagesOf(request);
  const kept = messages.filter((message) => !isInternalContext(message));
  const last = JSON.stringify(kept.at(-1));
  const answer = later
    .map(messagesOf)
    .map((all) => ({ repeats: JSON.stringify(all[kept.length - 1]) === last, next: all[kept.length] }))
    .find(({ repeats, next }) => repeats && next?.role === 'assistant')?.next;
  const dropped = request.outcome !== 'sse-ok';
  return interaction({
    id: String(request.n),
    time: request.t,
    ...(request.headers.traceparent === undefined ? {} : { traceparent: request.headers.traceparent }),
    messages: messages.map(rewrite),
    ...(request.body.tools === undefined ? {} : { tools: request.body.tools }),
    answer: answer ?? (dropped ? '' : '(end)'),
    finishReason: dropped ? 'aborted' : 'stop',
    disconnected: dropped,
  });
}
