import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { chatMessages as fromMessages } from '../../../services/serving/api/messages/chat-messages.ts';
import { createOmissions } from '../../../services/serving/api/request/omissions.ts';
import {
  chatMessages as fromResponses,
  instructionsMessage,
} from '../../../services/serving/api/responses/chat-messages.ts';
import { contentText, isHuman, isSystem } from '../../../shared/chat/message.ts';
import { userWords } from '../../../shared/chat/normalise.ts';
import { type ChatMessage, chatMessage } from '../../../shared/events/chat-message.ts';

const block = z.looseObject({ type: z.string() });
const request = z.looseObject({
  path: z.string().optional(),
  body: z
    .looseObject({
      system: z.union([z.string(), z.array(block)]).nullish(),
      instructions: z.string().nullish(),
      messages: z.array(z.looseObject({})).optional(),
      input: z.union([z.string(), z.array(z.looseObject({ type: z.string().optional() }))]).optional(),
    })
    .optional(),
});
type Recorded = z.output<typeof request>;
/** A list of requests, or a scenario with such a list. */
const recording = z.union([
  z.array(request),
  z.looseObject({ requests: z.array(request) }).transform(({ requests }) => requests),
]);

/** A request of an agent program in which the person's last words can be replaced. */
export type RecordedPrompt = {
  readonly program: string;
  /** `first`, or `last`: with the most turns before it */
  readonly which: 'first' | 'last';
  readonly asking: (question: string) => readonly ChatMessage[];
};

/** Characters of system text from which a request counts as the agent's, not a helper's. */
const AGENT_SYSTEM = 1_000;
/** Maximum characters of a person's words; a program wrote longer ones. */
const MOST_WORDS = 200;

/** The first request in each program's JSON files, and the one with the longest history. */
export function recordedPrompts(folders: readonly string[]): readonly RecordedPrompt[] {
  const files = folders
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
    .filter((file) => file.endsWith('.json'));
  const programs = Map.groupBy(files, programOf);
  return [...programs].toSorted().flatMap(([program, of]) => {
    const asked = of
      .flatMap((file) => recording.parse(JSON.parse(readFileSync(file, 'utf8'))))
      .flatMap((one) => askingIn(one) ?? []);
    if (asked.length === 0) return [];
    const longest = asked.reduce((most, one) => (one.turns > most.turns ? one : most));
    const shortest = asked.reduce((least, one) => (one.turns < least.turns ? one : least));
    return [
      { program, which: 'first' as const, asking: shortest.asking },
      ...(longest === shortest ? [] : [{ program, which: 'last' as const, asking: longest.asking }]),
    ];
  });
}

const programOf = (file: string): string =>
  file.includes('/.openclaw/') ? 'openclaw' : basename(file, '.json');

function askingIn({ body }: Recorded) {
  const messages = body && messagesOf(body);
  if (messages === undefined) return undefined;
  const system = messages.filter(isSystem).reduce((sum, { content }) => sum + contentText(content).length, 0);
  const at = messages.findLastIndex(isHuman);
  // client messages may follow the words, but no answer
  const isAsked =
    at !== -1 && !messages.slice(at).some(({ role }) => role === 'assistant' || role === 'tool');
  const asking = isAsked ? replacing(messages, at) : undefined;
  if (asking === undefined || system < AGENT_SYSTEM) return undefined;
  return { turns: messages.filter(isHuman).length, asking };
}

/** Undefined: it belongs to no API, or serving does not accept its content. */
function messagesOf(body: NonNullable<Recorded['body']>): readonly ChatMessage[] | undefined {
  const { system, instructions, messages, input } = body;
  try {
    if (input !== undefined) {
      const instructed = instructions ? [instructionsMessage(instructions)] : [];
      return [...instructed, ...fromResponses(input, createOmissions())];
    }
    const isChat = system === undefined && messages?.some(({ role }) => role === 'system' || role === 'tool');
    if (isChat) return z.array(chatMessage).parse(messages);
    return (
      messages &&
      fromMessages(
        { system, messages: messages as Parameters<typeof fromMessages>[0]['messages'] },
        createOmissions(),
      )
    );
  } catch {
    return undefined;
  }
}

/** The person's words are the last part of their message that is not a block of the client. */
function replacing(messages: readonly ChatMessage[], at: number): RecordedPrompt['asking'] | undefined {
  const { content } = messages[at]!;
  const parts = Array.isArray(content) ? content : [{ type: 'text', text: content ?? '' }];
  const wordsOf = (text = ''): string =>
    userWords({ role: 'user', content: text }).split('</system-reminder>').at(-1)!;
  const last = parts.findLastIndex(({ text }) => !['', '<'].includes(wordsOf(text).slice(0, 1)));
  const text = parts[last]?.text ?? '';
  const words = wordsOf(text);
  if (words === '' || words.length > MOST_WORDS) return undefined;
  return (question) => {
    const asked = parts.map((part, index) =>
      index === last ? { ...part, text: text.replace(words, () => question) } : part,
    );
    const message = { ...messages[at]!, content: Array.isArray(content) ? asked : asked[0]!.text! };
    return messages.with(at, message);
  };
}
