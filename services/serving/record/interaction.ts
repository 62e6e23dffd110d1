import { type JsonPieces, joinJson, jsonBytes, jsonOnce, jsonWith } from '../../../shared/chat/json-text.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import { rememberEventText } from '../../../shared/events/event-text.ts';
import { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import { InteractionFailed } from '../../../shared/events/interaction-failed.ts';
import { utcNow } from '../../../shared/service/clock.ts';

const source = 'clawloop/serving';

type Completed = InteractionCompleted['data'];

/**
 * The fact of an answered request. A body that no record may hold is left out, and the fact says so: the
 * chat was served, and the turn is skipped by that name.
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
  const { tools: _tools, templateInput: _input, ...rest } = data;
  const bare: Completed = {
    ...rest,
    messages: [],
    answer: { role: 'assistant', content: null } satisfies ChatMessage,
    tokens: null,
    untrainable: 'too-large',
    tooLarge: true,
  };
  return { ...event, data: bare };
}

/** The messages are most of it, and an engine elsewhere was sent their text. */
function piecesOf({ data: { messages, tools, ...data }, ...event }: InteractionCompleted): JsonPieces {
  const bodies = { messages: jsonOnce(messages), ...(tools === undefined ? {} : { tools: jsonOnce(tools) }) };
  return jsonWith(event, { data: jsonWith(data, bodies) });
}

export const interactionFailed = (
  data: InteractionFailed['data'],
  traceparent: string | undefined,
): InteractionFailed =>
  InteractionFailed.create({ id: data.interactionId, source, time: utcNow(), traceparent, data });
