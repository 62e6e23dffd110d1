import { interaction } from '../../services/collector/testing/events.ts';
import { isInternalContext } from '../../shared/chat/message.ts';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import { defined } from '../../shared/lang/defined.ts';
import { type OpenClawRequest, type OpenClawRequests, scenarioNames } from './requests.ts';

export type Rewrite = (message: ChatMessage) => ChatMessage;

/**
 * The requests as facts, each named by its scenario and its place there (`tool-loop-2`). The answer is what the
 * next request that repeats the history shows, else `(end)`.
 */
export const asInteractions = (
  all: OpenClawRequests,
  rewrite: Rewrite = (message) => message,
): readonly InteractionCompleted[] =>
  scenarioNames.flatMap((name) => {
    const { requests } = all[name];
    return requests.map((request, index) =>
      toInteraction(`${name}-${index + 1}`, request, requests.slice(index + 1), rewrite),
    );
  });

function toInteraction(
  id: string,
  { time, outcome, headers, body }: OpenClawRequest,
  later: readonly OpenClawRequest[],
  rewrite: Rewrite,
): InteractionCompleted {
  const kept = body.messages.filter((message) => !isInternalContext(message));
  const last = JSON.stringify(kept.at(-1));
  const answer = later
    .map(({ body: { messages } }) => messages)
    .map((messages) => ({
      repeats: JSON.stringify(messages[kept.length - 1]) === last,
      next: messages[kept.length],
    }))
    .find(({ repeats, next }) => repeats && next?.role === 'assistant')?.next;
  const dropped = outcome === 'dropped';
  return interaction({
    id,
    time,
    ...defined({ traceparent: headers.traceparent }),
    messages: body.messages.map(rewrite),
    ...defined({ tools: body.tools }),
    answer: answer ?? (dropped ? '' : '(end)'),
    finishReason: dropped ? 'aborted' : 'stop',
    disconnected: dropped,
  });
}
