import type { Toolchain } from './toolchain.ts';
import type { TestRun, Verdict } from './verdict.ts';

type Given = {
  readonly title: string;
  readonly toolchain: Toolchain;
  readonly verdict: Verdict;
  readonly withBug: TestRun;
};

/** failing tests that the instruction shows */
const SHOWN_TESTS = 8;
/** characters of a failing test's message */
const SHOWN_MESSAGE = 600;

/** Names the failing tests, but neither the place of the bug nor the kind of change. */
export function instructionText({ title, toolchain, verdict, withBug }: Given): string {
  const { failToPass } = verdict;
  const shown = failToPass.slice(0, SHOWN_TESTS).map((id) => {
    const message = withoutPlaces(withBug.failed.get(id) ?? '')
      .slice(0, SHOWN_MESSAGE)
      .trim();
    return message === '' ? `* \`${id}\`` : `* \`${id}\`\n\n${indented(message)}\n`;
  });
  const rest = failToPass.length - shown.length;
  return `# Fix ${title}

The folder /app contains the source of ${title}. One of its source files has a bug, which makes tests fail:

${shown.join('\n')}
${rest > 0 ? `\nand ${rest} more.\n` : ''}
Find the bug and fix it. Run the tests with:

    cd /app && ${toolchain.testCommand}

Tests that pass now must still pass. The tests are restored before grading, so changes to them have no effect.
`;
}

/** Names of source files are no secret, but numbers of lines are. */
const withoutPlaces = (message: string): string =>
  message
    .replaceAll(/((?:[\w.-]+\/)*[\w-]+\.(?:py|[cm]?js)):\d+(?::\d+)?/g, '$1')
    .replaceAll(/, line \d+/g, '');

const indented = (text: string): string =>
  text
    .split('\n')
    .map((line) => `      ${line}`.trimEnd())
    .join('\n');
