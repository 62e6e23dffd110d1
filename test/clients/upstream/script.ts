import { answers, CALLING, COMMAND, NOTE, type Step, SUMMARY, said, TITLE } from '../steps.ts';
import type { Asked, OfferedTool, Schema } from './asked.ts';

/** The purpose of a request: the conversation, or the program's own work. */
export type Kind = 'conversation' | 'title' | 'compaction' | 'helper';

export type Call = { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> };

export type Reply = {
  readonly kind: Kind;
  /** the step that it answers; undefined: it answers the program's own request */
  readonly step: Step | undefined;
  readonly text: string;
  readonly call?: Call;
  /** it is sent slowly, so that the person can stop it */
  readonly slow?: true;
};

/** Patterns of the programs' own requests, in the system text or in the latest message. */
const ownRequests: readonly (readonly [Exclude<Kind, 'conversation'>, RegExp])[] = [
  ['title', /^You are a title generator|You are naming a coding session/m],
  ['compaction', /^You are a context summarization agent/m],
  ['compaction', /summarize this partial conversation/],
  ['helper', /You are now acting as the managed memory extraction subagent/],
  ['helper', /generates concise, one-line Git commit messages/],
];
const ownWords: readonly RegExp[] = [
  /CONTEXT CHECKPOINT COMPACTION/,
  /^CRITICAL: Respond with TEXT ONLY/,
  /summarizes a conversation when its context window/,
  /^Please provide a concise summary of our conversation/,
];

/** @param stoppedBefore the stopped answer was requested before */
export function replyTo(asked: Asked, stoppedBefore: boolean): Reply {
  const last = asked.messages.at(-1);
  const own =
    ownRequests.find(([, pattern]) => pattern.test(asked.system.slice(0, 4_000)))?.[0] ??
    (ownWords.some((pattern) => pattern.test(last?.text ?? '')) ? 'compaction' : undefined);
  if (own !== undefined) return ownReply(own, asked);
  const step = stepOf(asked, stoppedBefore);
  if (step === undefined) return ownReply('helper', asked);
  const spoken = { kind: 'conversation', step, text: answers[step] } as const;
  if (step === 'stopped') return { ...spoken, slow: true };
  if (step !== 'tool' || last?.role === 'tool') return spoken;
  const call = callOf(asked.tools);
  // a program without tools reads files from the text
  if (call === undefined)
    return { ...spoken, text: `${answers.tool}\n\nnote.txt\n\`\`\`\n${NOTE}\n\`\`\`\n` };
  return { ...spoken, text: CALLING, call };
}

function ownReply(kind: Exclude<Kind, 'conversation'>, { wantsJson, system }: Asked): Reply {
  const of = { kind, step: undefined };
  switch (kind) {
    case 'title':
      return { ...of, text: wantsJson ? JSON.stringify({ title: TITLE }) : TITLE };
    case 'compaction':
      return { ...of, text: `<analysis>Short.</analysis>\n<summary>\n${SUMMARY}\n</summary>` };
    case 'helper':
      return {
        ...of,
        text: system.includes('commit') ? 'docs: note that the pan is dry' : 'Nothing to keep.',
      };
  }
}

/** The step whose words the latest message contains; the result of a tool belongs to the words before it. */
function stepOf({ messages }: Asked, stoppedBefore: boolean): Step | undefined {
  const spoken = messages.findLast(({ role }, at) => role === 'user' && at >= latestWritten(messages));
  const steps = Object.keys(said) as Step[];
  const found = steps.find((step) => spoken?.text.includes(said[step]));
  return found === 'stopped' && stoppedBefore ? 'again' : found;
}

/** In a round of tools, the person's words are in an earlier message. */
const latestWritten = (messages: Asked['messages']): number =>
  messages.at(-1)?.role === 'tool'
    ? messages.findLastIndex(({ role, text }) => role === 'user' && text !== '')
    : messages.length - 1;

const shells = ['bash', 'exec_command', 'shell', 'run_shell_command', 'execute_command', 'run_commands'];

function callOf(tools: readonly OfferedTool[]): Call | undefined {
  const tool = tools.find(({ name }) => shells.includes(name.toLowerCase()));
  return tool === undefined ? undefined : { name: tool.name, arguments: argumentsFor(tool.schema) };
}

const commandFields = ['command', 'cmd', 'commands'];

/** Every required field, and the field for the command. */
function argumentsFor(schema: Schema | undefined): Call['arguments'] {
  const properties = schema?.properties ?? {};
  const names = new Set([...(schema?.required ?? []), ...commandFields.filter((name) => name in properties)]);
  return Object.fromEntries([...names].map((name) => [name, valueFor(name, properties[name] ?? {})]));
}

function valueFor(name: string, schema: Schema): unknown {
  if (commandFields.includes(name)) return schema.type === 'array' ? [COMMAND] : COMMAND;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.type === 'boolean') return false;
  return schema.type === 'integer' || schema.type === 'number' ? 10_000 : 'writes the note';
}
