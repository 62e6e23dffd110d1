import {
  deltaFrame,
  finishFrame,
  sendFrames,
  type UpstreamDouble,
  usageFrame,
} from '../../serving-upstream-double.ts';

type Script = Parameters<UpstreamDouble['script']>[0];
type Message = { readonly role: string; readonly content?: unknown };
type Tool = {
  readonly function: {
    readonly name: string;
    readonly parameters: { readonly properties?: Readonly<Record<string, { readonly type?: string }>> };
  };
};

/** The command of the policy in the program's own shell. */
const WORK = 'echo 42 > answer.txt';
/** how mini-swe-agent ends */
const SUBMIT = 'echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT';

/**
 * A policy that writes a file by the shell tool of any program, and then answers that it is done. If a program needs a
 * call in each answer, it submits instead.
 */
export const shellPolicy: Script = ({ body }, response) => {
  const { messages, tools = [] } = body as {
    readonly messages: readonly Message[];
    readonly tools?: readonly Tool[];
  };
  const calls = messages.filter(({ role }) => role === 'tool').length;
  const shell = tools.find(({ function: { name } }) =>
    /^(bash|shell|exec_command|exec)$/i.test(name),
  )?.function;
  const mustCall = shell?.name === 'bash';
  const command = calls === 0 ? WORK : mustCall ? SUBMIT : undefined;
  const isCall = shell !== undefined && command !== undefined;
  const delta = isCall
    ? {
        tool_calls: [
          {
            index: 0,
            id: `call_${calls}`,
            type: 'function',
            function: { name: shell.name, arguments: JSON.stringify(argumentsOf(shell, command)) },
          },
        ],
      }
    : { content: 'The file is written.' };
  sendFrames(response, [
    deltaFrame(
      delta,
      { token_ids: [1], logprobs: { content: [{ token: '0', logprob: -0.5 }] } },
      { prompt_token_ids: [calls, ...Array(messages.length).fill(0)] },
    ),
    finishFrame(isCall ? 'tool_calls' : 'stop'),
    usageFrame(messages.length + 1, 1),
  ]);
};

/** Programs call the argument `command` or `cmd`, a text or a list. */
function argumentsOf({ parameters }: Tool['function'], command: string): object {
  const properties = parameters.properties ?? {};
  const name = 'cmd' in properties ? 'cmd' : 'command';
  const isList = properties[name]?.type === 'array';
  const given = { [name]: isList ? ['sh', '-c', command] : command };
  return 'description' in properties ? { ...given, description: 'Write the answer' } : given;
}
