import { canonicalJson } from './canonical-json.ts';
import { withoutContextBlocks } from './context-blocks.ts';
import {
  type ChatMessage,
  type ContentPart,
  contentText,
  isInternalContext,
  isSystem,
  type ToolCall,
} from './message.ts';

/** A message without everything that clients rewrite between requests. */
export type NormalisedMessage = {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly text: string;
  /** Parts that are not text, as canonical JSON. */
  readonly attachments: readonly string[];
  readonly calls: readonly { readonly name: string; readonly arguments: string }[];
};

/**
 * Normalises a message; undefined for internal context, which is never part of the history. Two requests of one
 * conversation normalise to the same messages even if the client has
 *   - split or joined text parts, added `cache_control`, or changed line ends and outer white space;
 *   - dropped reasoning, separate (`reasoning_content`) or inline (`<think>..</think>`);
 *   - renamed tool-call ids, or written JSON arguments with other spaces or another order of keys;
 *   - prefixed a date, appended or rewritten its `Runtime:` line, or wrapped the words of a retried request;
 *   - added details about the channel of the message;
 *   - sent empty content as null, '' or nothing, or `developer` as `system`.
 */
export function normaliseMessage(message: ChatMessage): NormalisedMessage | undefined {
  if (isInternalContext(message)) return undefined;
  const role = message.role === 'developer' ? 'system' : message.role;
  return {
    role,
    text: normalisers[role](textOf(message)).trim(),
    attachments: attachments(message.content),
    calls: (message.tool_calls ?? []).map(normaliseCall),
  };
}

/** A person's words, without the client's additions. */
export const userWords = (message: ChatMessage): string => withoutClientMarks(textOf(message)).trim();

const textOf = ({ content }: ChatMessage): string =>
  contentText(Array.isArray(content) ? content.filter((part) => !isRuntimePart(part)) : content).replaceAll(
    '\r\n',
    '\n',
  );

/** After a compaction the `Runtime:` line is a separate text part. */
function isRuntimePart({ text = '' }: ContentPart): boolean {
  const line = text.trim();
  // a single regular expression would try every bar of a long line
  return line.startsWith('Runtime: agent=') && line.includes(' | ') && !line.includes('\n');
}

const normalisers: Readonly<Record<NormalisedMessage['role'], (text: string) => string>> = {
  system: withoutDynamicPart,
  user: withoutClientMarks,
  assistant: withoutReasoning,
  tool: (text) => text,
};

/** `[Sat 2026-11-21 00:26 UTC] ` */
const datePrefix =
  /^\s*\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?(?: [^\]\n]{1,40})?\]\s*/;
/**
 * `Runtime: agent=main | session=... | ...`, the last line of the first user message, or a line of the system
 * text.
 */
export const runtimeLine = /(?:^|\n)[ \t]*Runtime: agent=[^\n]* \| [^\n]*(?=\n|$)/g;
/** A retried request has the words between these two. */
const retryPrefix = /^\[Queued user message from a previous active turn[^\]]*\]\s*/;
const retrySuffix = '\n\nContinue the current task from the existing transcript';

/** Results of other agents precede the person's words, which begin after `steeredTurn`. */
const steeringPrefix = '[OpenClaw runtime event] Agent steering';
const steeredTurn = '\n\nCurrent parent turn:\n\n';

function withoutSteering(text: string): string {
  const at = text.startsWith(steeringPrefix) ? text.lastIndexOf(steeredTurn) : -1;
  return at === -1 ? text : text.slice(at + steeredTurn.length).replace(datePrefix, '');
}

function withoutClientMarks(text: string): string {
  const dated = withoutSteering(text.replace(datePrefix, ''));
  const bare = withoutContextBlocks(dated);
  const words = (bare === dated ? bare : bare.replace(datePrefix, '')).replace(runtimeLine, '').trimEnd();
  if (!retryPrefix.test(words)) return words;
  const wrapped = words.replace(retryPrefix, '');
  const end = wrapped.lastIndexOf(retrySuffix);
  return end === -1 ? wrapped : wrapped.slice(0, end);
}

/** Marks around text that changes with the date and the model. */
const dynamicPart = /<!-- openclaw:attempt:DYNAMIC -->.*?(?:<!-- \/openclaw:attempt:DYNAMIC -->|$)/gs;

function withoutDynamicPart(text: string): string {
  return text.replace(dynamicPart, '').replace(runtimeLine, '');
}

/**
 * The opening mark may be in the prompt instead of the answer, and an answer may end within its reasoning. This is
 * not a regular expression, because searching the closing mark from every opening one takes quadratic time.
 */
function withoutReasoning(text: string): string {
  const parts = text.split('</think>');
  return parts
    .map((part, index) => {
      const opening = part.indexOf('<think>');
      if (opening !== -1) return part.slice(0, opening);
      return index === parts.length - 1 ? part : '';
    })
    .join('');
}

function attachments(content: ChatMessage['content']): readonly string[] {
  if (!Array.isArray(content)) return [];
  return content
    .filter((part) => part.type !== 'text')
    .map(({ cache_control: _, ...part }) => canonicalJson(part));
}

function normaliseCall({
  function: { name, arguments: text },
}: ToolCall): NormalisedMessage['calls'][number] {
  if (text.trim() === '') return { name, arguments: '{}' };
  try {
    return { name, arguments: canonicalJson(JSON.parse(text)) };
  } catch {
    return { name, arguments: text.trim() };
  }
}

/** The normalised system text of a request: the leading system and developer messages. */
export function normalisedSystemText(messages: readonly ChatMessage[]): string {
  const end = messages.findIndex((message) => !isSystem(message));
  const leading = end === -1 ? messages : messages.slice(0, end);
  return leading.map((message) => normaliseMessage(message)?.text ?? '').join('\n');
}
