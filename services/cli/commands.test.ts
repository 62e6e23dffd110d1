import { expect, test } from 'vitest';
import { clawloop } from '../../test/e2e/harness/clawloop.ts';
import { commands } from './commands.ts';
import { helpOf } from './help.ts';
import { serviceNames } from './service-entry.ts';

/** Commands that ask for an action first. */
const words: Readonly<Record<string, readonly string[]>> = {
  deploy: ['tinker'],
  learning: ['pause'],
};
const withGenericHelp = commands.filter(({ helps }) => helps !== true);
const commonFlags = ['--data-folder', '--kafka-brokers', 'CLAWLOOP_LOG'];

test.each(withGenericHelp)('clawloop $name: help, and an unknown flag', async (command) => {
  const help = helpOf(command);
  expect(help).toContain(`clawloop ${command.name} ${command.usage}`);
  for (const flag of commonFlags) expect(help).toContain(flag);
  const typed = [...(words[command.name] ?? []), '--nonsense', '3'];
  await expect(command.run(typed)).rejects.toMatchObject({
    name: expect.stringMatching(/UsageError|ConfigError/),
    message: expect.stringContaining("'--nonsense'"),
  });
});

// those that help by themselves, and one of the others
test.concurrent.each([...commands.filter(({ helps }) => helps), withGenericHelp[0]!])(
  'clawloop $name --help',
  async ({ name }) => {
    const { code, stdout, stderr } = await clawloop([name, '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`clawloop ${name} `);
    for (const flag of commonFlags) expect(stdout).toContain(flag);
  },
);

test.concurrent.each([...commands.filter(({ helps }) => helps), withGenericHelp[0]!])(
  'clawloop $name --nonsense',
  async ({ name }) => {
    const { code, stdout, stderr } = await clawloop([name, '--nonsense', '3']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain("'--nonsense'");
    expect(stderr).toContain(`see clawloop ${name} --help`);
    expect(stderr).not.toMatch(/\n +at /); // no stack
  },
);

test('help lists every command, including each service', async () => {
  const { code, stdout } = await clawloop(['help']);
  expect(code).toBe(0);
  for (const { name } of commands) expect(stdout).toMatch(new RegExp(`^  ${name} `, 'm'));
  for (const name of serviceNames) expect(commands.some((one) => one.name === name)).toBe(true);
});

test('an unknown command or action is refused', async () => {
  expect(await clawloop(['trane'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('clawloop help'),
  });
  const { code, stderr } = await clawloop(['policy', 'lisst']);
  expect({ code, stderr }).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('list, show, rollback'),
  });
});
