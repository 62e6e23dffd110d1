/** First line of the output of the command that submits. */
export const SUBMIT_LINE = 'COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT';

const common = `You solve a task on a Linux machine by running bash commands.

- Each command runs in a new shell. Directory and variables do not carry over: use \`cd DIR && ...\`. Files stay.
- Nobody answers prompts: use flags such as -y, and no editors or pagers.
- Output is cut in its middle after 10,000 characters.
- Look at the result of a command before the next one, and check your work before you submit.
- To submit, run \`echo ${SUBMIT_LINE}\` alone. You cannot work on the task after that.`;

/** The instructions of the agent. */
export const systemPrompt = (form: 'calls' | 'backticks'): string =>
  form === 'calls'
    ? `${common}\n- Every answer calls the tool \`bash\`. Write a sentence about your plan before the call.`
    : `${common}\n- Every answer has a sentence about your plan and exactly one command, in a block:\n\n\`\`\`bash\nls -la\n\`\`\``;

/** The only command of an answer in backticks. */
export function commandIn(
  text: string,
): { readonly command: string } | { readonly command: undefined; readonly problem: string } {
  const blocks = [...text.matchAll(/^```(?:bash|sh)[ \t]*\n(.*?)^```[ \t]*$/gms)].map(
    ([, command]) => command!,
  );
  const [command, ...others] = blocks;
  if (command !== undefined && others.length === 0 && command.trim() !== '')
    return { command: command.trimEnd() };
  const found =
    blocks.length === 0
      ? 'no command'
      : blocks.length === 1
        ? 'an empty command'
        : `${blocks.length} commands`;
  return {
    command: undefined,
    problem: `Your answer has ${found}. Write exactly one, between a line \`\`\`bash and a line \`\`\`.`,
  };
}

export const turnsLeft = (count: number): string =>
  `You have ${count} ${count === 1 ? 'turn' : 'turns'} left.`;
