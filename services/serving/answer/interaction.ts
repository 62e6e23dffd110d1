import { type JsonPieces, joinJson, jsonBytes, jsonOnce, jsonWith } from '../../../shared/chat/json-text.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import { rememberEventText } from '../../../shared/events/event-text.ts';
import { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import { InteractionFailed } from '../../../shared/events/interaction-failed.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { utcNow } from '../../../shared/runtime/clock.ts';

const source = 'clawloop/serving';

type Completed = InteractionCompleted['data'];

/**
 * The event of an answered request. If it exceeds the maximum record size, all texts are left out and the event is
 * marked as too large: the turn is then skipped for this reason.
 */
export function interactionCompleted(
  data: Completed,
  traceparent: string | undefined,
  maxRecordBytes: number,
): InteractionCompleted {
  const event = InteractionCompleted.create({
    id: data.interactionId,
    source,
    time: utcNow(),
    traceparent,
    data,
  });
  const pieces = piecesOf(event);
  if (jsonBytes(pieces) <= maxRecordBytes) {
    rememberEventText(event, () => joinJson(pieces));
    return event;
  }
  const { tools: _tools, templateInput: _input, response, ...rest } = data;
  const bare: Completed = {
    ...rest,
    // what a response repeats of its request, such as its instructions, may be as large as the messages
    ...defined({
      response: response && { store: response.store, created_at: response.created_at },
    }),
    messages: [],
    answer: { role: 'assistant', content: null } satisfies ChatMessage,
    tokens: null,
    untrainable: 'too-large',
    tooLarge: true,
  };
  return { ...event, data: bare };
}

/** Messages and tools are most of an event, and their JSON text may already exist for an upstream engine. */
function piecesOf({ data: { messages, tools, ...data }, ...event }: InteractionCompleted): JsonPieces {
  const bodies = {
    messages: jsonOnce(messages),
    ...defined({ tools: tools === undefined ? undefined : jsonOnce(tools) }),
  };
  return jsonWith(event, { data: jsonWith(data, bodies) });
}

export const interactionFailed = (
  data: InteractionFailed['data'],
  traceparent: string | undefined,
): InteractionFailed =>
  InteractionFailed.create({ id: data.interactionId, source, time: utcNow(), traceparent, data });
