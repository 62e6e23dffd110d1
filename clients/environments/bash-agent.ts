import { isObject, parseJson } from '../../shared/lang/json.ts';
import type { Agent } from '../rollout/contract.ts';
import { observationOf, submissionIn } from './bash-observation.ts';
import { commandIn, systemPrompt, turnsLeft } from './bash-prompts.ts';
import { createWindow, type Turn } from './bash-window.ts';
import { type AssistantMessage, complete, type Message } from './chat-completions.ts';
import type { FunctionTool, OpenEnvironment } from './environment.ts';

/** Why an attempt ended. All but `submitted` mean that the policy used up a budget. */
type Ended = 'submitted' | 'steps' | 'context' | 'format';

/** What the agent returns; the results file shows it. */
type BashResult = {
  readonly ended: Ended;
  readonly steps: number;
  /** what the policy printed after the line that ends the attempt */
  readonly submission: string;
};

export type BashAgentSettings = {
  /** answers of the policy per attempt */
  readonly maxSteps: number;
  /** whether commands are calls of a tool, or text in backticks */
  readonly form: 'calls' | 'backticks';
  /** tokens of the conversation above which turns are left out; undefined: no limit */
  readonly contextTokens: number | undefined;
  /** name of the model in requests */
  readonly model: string;
};

/** answers without a usable command, one after the other, that end an attempt */
const MOST_FORMAT_ERRORS = 3;

const bash: FunctionTool = {
  type: 'function',
  function: {
    name: 'bash',
    description: 'Runs a bash command and returns its exit status and output.',
    parameters: {
      type: 'object',
      properties: { command: { type: 'string', description: 'the command' } },
      required: ['command'],
    },
  },
};

type Shell = NonNullable<OpenEnvironment['shell']>;

/**
 * An agent that works by a shell: one command after the other, each in a new shell, until one prints the line that
 * submits.
 */
export const bashAgent =
  ({ maxSteps, form, contextTokens, model }: BashAgentSettings): Agent<unknown, BashResult> =>
  async ({ environment, baseUrl, apiKey, seed, signal }) => {
    const shell = environment?.shell;
    if (environment === undefined || shell === undefined)
      throw new Error('the agent `bash` needs an environment with a shell, such as harbor:FOLDER');
    const opening: Message[] = [{ role: 'system', content: systemPrompt(form) }, ...environment.messages];
    const window = createWindow(opening, contextTokens);
    const tools = form === 'calls' ? [bash] : [];
    let formatErrors = 0;
    for (let step = 0; step < maxSteps; step++) {
      const request = { model, messages: window.messages(), tools, seed: seed + step };
      const completed = await complete({ baseUrl, apiKey }, request, signal);
      if (completed === 'context-full') return { ended: 'context', steps: step, submission: '' };
      const { message, promptTokens } = completed;
      if (promptTokens !== undefined) window.measured(promptTokens);
      const after = await carryOut(message, { form, shell, signal });
      const left = turnsLeft(maxSteps - step - 1);
      if (after.submission !== undefined) {
        const next = await submit(environment, step, signal);
        if (next === undefined) return { ended: 'submitted', steps: step + 1, submission: after.submission };
        window.add([message, ...after.replies, { role: 'user', content: `${next}\n${left}` }]);
        continue;
      }
      formatErrors = after.isFormatError ? formatErrors + 1 : 0;
      if (formatErrors >= MOST_FORMAT_ERRORS) return { ended: 'format', steps: step + 1, submission: '' };
      window.add([message, ...withLine(after.replies, left)]);
    }
    return { ended: 'steps', steps: maxSteps, submission: '' };
  };

type After = {
  readonly replies: readonly Message[];
  readonly isFormatError: boolean;
  /** undefined: the policy continues */
  readonly submission: string | undefined;
};

type Context = {
  readonly form: BashAgentSettings['form'];
  readonly shell: Shell;
  readonly signal: AbortSignal;
};

/** Runs the commands of an answer in order, up to the one that submits. */
async function carryOut(message: AssistantMessage, { form, shell, signal }: Context): Promise<After> {
  const asked = commandsIn(message, form);
  const replies: Message[] = [];
  let submission: string | undefined;
  let isFormatError = asked.some(({ command }) => command === undefined);
  for (const { command, callId, problem } of asked) {
    const reply = (content: string): Message =>
      callId === undefined ? { role: 'user', content } : { role: 'tool', tool_call_id: callId, content };
    if (command === undefined || submission !== undefined) {
      replies.push(reply(problem ?? 'Not run: a command before this one submitted.')); // every call needs a reply
      continue;
    }
    const result = await shell(command, signal);
    replies.push(reply(observationOf(result)));
    isFormatError = false;
    submission = submissionIn(result);
  }
  return { replies, isFormatError, submission };
}

type Asked = { readonly callId: string | undefined } & (
  | { readonly command: string; readonly problem?: undefined }
  | { readonly command: undefined; readonly problem: string }
);

function commandsIn(message: AssistantMessage, form: BashAgentSettings['form']): readonly Asked[] {
  if (form === 'backticks') return [{ callId: undefined, ...commandIn(message.content ?? '') }];
  const calls = message.tool_calls ?? [];
  if (calls.length === 0)
    return [
      {
        callId: undefined,
        command: undefined,
        problem: 'Your answer has no call. Call the tool `bash` with a command.',
      },
    ];
  return calls.map(({ id, function: { name, arguments: text } }) => {
    const given = parseJson(text);
    if (name === 'bash' && isObject(given) && typeof given.command === 'string')
      return { callId: id, command: given.command };
    const problem =
      name === 'bash'
        ? 'The arguments are not a JSON object with a text `command`.'
        : `There is no tool '${name}'. Call \`bash\`.`;
    return { callId: id, command: undefined, problem };
  });
}

/** The instruction of the next step; undefined: the task is finished. */
async function submit(
  environment: OpenEnvironment,
  step: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!environment.tools.some((tool) => tool.function.name === 'submit')) return undefined;
  const { content, isDone } = await environment.act(
    { id: `submit-${step}`, name: 'submit', arguments: {} },
    signal,
  );
  return isDone ? undefined : content;
}

/** Adds a line to the last reply. */
const withLine = (replies: Turn, line: string): Turn =>
  replies.map((reply, index) =>
    index === replies.length - 1 && 'content' in reply
      ? { ...reply, content: `${reply.content ?? ''}\n${line}` }
      : reply,
  );
