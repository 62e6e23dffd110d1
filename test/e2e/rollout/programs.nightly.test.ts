import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { claudeCode } from '../../clients/drivers/claude-code.ts';
import { codex } from '../../clients/drivers/codex.ts';
import { installClient, type Launcher, type Package } from '../../clients/install.ts';
import { clawloop } from '../harness/clawloop.ts';
import { installOpenClaw, openClawLauncher } from '../openclaw/install.ts';
import { givesTokens, servingOnScript } from '../serving-on-script.ts';
import { sessionFacts } from '../session-facts.ts';
import { shellPolicy } from './programs/shell-policy.ts';

type Tell = (line: string) => void;
type Program = {
  readonly name: string;
  readonly install: (tell: Tell) => Promise<Launcher>;
  readonly command: string;
};

const fetched = (from: Package) => (tell: Tell) => installClient(from, tell);

const programs: readonly Program[] = [
  {
    name: 'mini',
    install: fetched({
      registry: 'pypi',
      name: 'mini-swe-agent',
      version: '2.4.6',
      executable: 'mini',
      pythons: ['3.12', '3.13', '3.11'],
      also: ['mcp'], // litellm imports it
    }),
    command: 'MSWEA_CONFIGURED=true mini -y --exit-immediately -m "openai/$CLAWLOOP_MODEL" -t "$INSTRUCTION"',
  },
  {
    name: 'claude',
    install: fetched(claudeCode.package as Package),
    command: 'claude -p --model "$CLAWLOOP_MODEL" --allowedTools Bash -- "$INSTRUCTION"',
  },
  {
    name: 'codex',
    install: fetched(codex.package as Package),
    command: `codex exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox \
-m "$CLAWLOOP_MODEL" -c model_provider=clawloop -c 'model_providers.clawloop={name="ClawLoop",\
base_url="'"$OPENAI_BASE_URL"'",wire_api="responses",env_key="OPENAI_API_KEY"}' "$INSTRUCTION"`,
  },
  {
    name: 'openclaw',
    install: async (tell) => {
      await installOpenClaw(tell);
      return [process.execPath, openClawLauncher];
    },
    command: `WORKSPACE="$PWD" OPENCLAW_CONFIG_PATH="$CLAWLOOP_STARTED_IN/examples/openclaw-agent/openclaw.json" \
openclaw agent --local --agent main --message "$INSTRUCTION"`,
  },
];

/** The configuration of OpenClaw, which all attempts share. */
const openClawFile = fileURLToPath(
  new URL('../../../examples/openclaw-agent/openclaw.json', import.meta.url),
);

/** Variables of the parent's own programs, which no attempt may use. */
const ofTheParent = {
  OPENAI_API_KEY: 'sk-of-the-parent',
  OPENAI_BASE_URL: 'http://127.0.0.1:9/v1',
  ANTHROPIC_API_KEY: 'sk-of-the-parent',
  ANTHROPIC_BASE_URL: 'http://127.0.0.1:9',
  ANTHROPIC_AUTH_TOKEN: 'sk-of-the-parent',
};

type Line = {
  readonly outcome: string;
  readonly reward: number | null;
  readonly session: string;
  readonly error: string | null;
};

const on = servingOnScript([...givesTokens], shellPolicy);
const reward = fileURLToPath(new URL('programs/reward-42.ts', import.meta.url));

describe.each(programs)('$name as the agent of a rollout', ({ name, install, command }) => {
  let path = '';
  beforeAll(async () => {
    const launcher = await install((line) => process.stderr.write(`${line}\n`));
    path = await onPath(name, launcher, on.folder.data.root);
  });

  test('it connects, works with its own tools, is recorded in its session and rewarded', async () => {
    const [data, out] = ['tasks', 'results'].map((file) =>
      join(on.folder.data.root, `${name}-${file}.jsonl`),
    );
    await writeFile(data!, '{"id":"write","instruction":"Write the answer to answer.txt."}\n');
    const agent = `program:${command} && cat answer.txt`;
    const flags = ['--agent', agent, '--reward', reward, '--data', data!, '--out', out!];
    const settings = await readFile(openClawFile, 'utf8');
    const { code, stdout, stderr } = await clawloop(
      ['rollout', ...flags, '--n', '2', '--retries', '0', '--timeout', '1800', '--url', on.serving.url],
      { ...ofTheParent, PATH: path },
    );
    const results = await readFile(out!, 'utf8').catch(() => '');
    const lines = results
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Line);
    expect(code, stdout + stderr + results).toBe(0);
    expect(lines).toMatchObject(Array(2).fill({ outcome: 'rewarded', reward: 1 }));
    for (const { session } of lines) {
      const facts = await sessionFacts(on.folder, session);
      const answers = facts.filter(({ type }) => type === 'interaction.completed');
      expect(answers.length).toBeGreaterThanOrEqual(2);
      expect(JSON.stringify(answers[0]!.data)).toContain('Write the answer to answer.txt.');
      expect(facts.at(-1)!.type).toBe('session.ended');
      expect(facts.filter(({ type }) => type === 'feedback.given')).not.toEqual([]);
    }
    const keys = on.upstream.calls.map(({ headers }) => JSON.stringify(headers));
    expect(keys.join()).not.toContain('sk-of-the-parent');
    expect(await readFile(openClawFile, 'utf8')).toBe(settings);
  });
});

/** Puts a program on PATH under its usual name. */
async function onPath(name: string, launcher: Launcher, folder: string): Promise<string> {
  const bin = join(folder, `bin-${name}`);
  await mkdir(bin);
  const [only, ...more] = launcher;
  if (more.length === 0) await symlink(only, join(bin, name));
  else {
    const quoted = launcher.map((word) => `'${word}'`).join(' ');
    await writeFile(join(bin, name), `#!/bin/sh\nexec ${quoted} "$@"\n`);
    await chmod(join(bin, name), 0o755);
  }
  return [bin, dirname(process.execPath), process.env.PATH].join(delimiter);
}
