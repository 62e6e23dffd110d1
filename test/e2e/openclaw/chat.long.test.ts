import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BatchSubmitted } from '../../../shared/events/batch-submitted.ts';
import type { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import type { PolicyPromoted } from '../../../shared/events/policy-promoted.ts';
import type { TurnCompleted } from '../../../shared/events/turn-completed.ts';
import { type ClawLoop, clawloop, startClawLoop, until } from '../harness/clawloop.ts';
import { describeWithOpenClaw } from './describe-with-openclaw.ts';
import { type OpenClawGateway, type OpenClawHome, openClawHome } from './gateway.ts';
import { tailed } from './tailed.ts';

const talk = {
  garden: ['What grows well in shade?', 'Great, thank you!', 'How do I water ferns?', 'No lists, please.'],
  kitchen: ['How do I bake bread?', 'Please skip the greeting.', 'What flour do I take?', 'Perfect, thanks!'],
  travel: ['How do I pack for a trip?', 'Perfect, thanks!', 'What about shoes?', 'Great, thank you!'],
} as const;
/** ms to the first token, on a machine with other work */
const FIRST_TOKEN_MS = 45_000;

describeWithOpenClaw('the real OpenClaw with claw-nano, both with default settings', () => {
  let folder: string;
  let loop: ClawLoop;
  let home: OpenClawHome;
  let gateway: OpenClawGateway;
  /** session ids */
  let ids: readonly string[];
  let answers: readonly InteractionCompleted['data'][];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clawloop-openclaw-chat-'));
    loop = await startClawLoop(folder);
    home = await openClawHome(loop.url);
    await home.configure({ agents: { defaults: { skipBootstrap: false } } }); // as after an installation
    gateway = await home.start();
    ids = await Promise.all(
      Object.entries(talk).map(async ([name, said]) => {
        let id = '';
        for (const words of said) id = (await gateway.say(name, words)).sessionId;
        return id;
      }),
    );
    const facts = await tailed<InteractionCompleted>(folder, 'conversations', 'interaction.completed');
    answers = facts.map(({ data }) => data);
  });
  afterAll(async () => {
    await home?.dispose();
    await loop?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test('its prompt is longer than the context: it is cut, the cut is recorded, and answers start soon', () => {
    expect(answers).toHaveLength(Object.values(talk).flat().length);
    for (const { windowCut, tokens, timing } of answers) {
      expect(windowCut).toMatchObject({ tools: expect.any(Number), turns: expect.any(Number) });
      expect(windowCut!.systemCharacters).toBeGreaterThan(20_000);
      expect(tokens!.promptIds.length).toBeLessThan(600);
      expect(timing.firstTokenMs).toBeLessThan(FIRST_TOKEN_MS);
    }
    const starts = answers
      .map(({ timing }) => Math.round(timing.firstTokenMs ?? Number.POSITIVE_INFINITY))
      .sort((a, b) => a - b);
    const [{ messages, tools }] = answers as [InteractionCompleted['data']];
    const characters = JSON.stringify({ messages, tools }).length;
    console.log(`${characters} characters at first; ms to the first token: ${starts.join(' ')}`);
    // the beginning of a prompt is computed once, because all prompts begin with the same system text
    const cached = answers.map(({ usage }) => usage.cachedPromptTokens ?? 0).sort((a, b) => a - b);
    const read = answers.map(({ usage }) => usage.promptTokens).sort((a, b) => a - b);
    console.log(`tokens of the prompts: ${read.join(' ')}; known before: ${cached.join(' ')}`);
    expect(cached[Math.floor(cached.length / 2)]).toBeGreaterThanOrEqual(128);
  });

  test('the chats make a new version, which gives the next answer', async () => {
    const [promoted] = await until(
      'a version is promoted',
      async () => {
        const found = await tailed<PolicyPromoted>(folder, 'training', 'policy.promoted');
        return found.length > 0 && found;
      },
      240_000,
    );
    const batches = await tailed<BatchSubmitted>(folder, 'training', 'batch.submitted');
    const turns = await tailed<TurnCompleted>(folder, 'turns', 'turn.completed');
    const batch = batches.find(({ data }) => data.batchId === promoted!.data.batchId)!;
    const learned = batch.data.samples.map(({ sampleId }) =>
      turns.find(({ data }) => data.turnId === sampleId),
    );
    expect(learned.length).toBeGreaterThan(0);
    for (const turn of learned) expect(ids).toContain(turn!.data.session);
    expect(new Set(turns.map(({ data }) => data.session))).toEqual(new Set(ids));

    await until(
      'the version is served',
      async () => {
        await gateway.say('later', 'Good morning.');
        const facts = await tailed<InteractionCompleted>(folder, 'conversations', 'interaction.completed');
        return facts.at(-1)!.data.version >= promoted!.data.to;
      },
      240_000,
    );
    expect((await clawloop(['audit', '--data-folder', folder])).stdout).toMatch(/balances/);
  });

  test('the doctor finds no fault', async () => {
    const { stdout } = await clawloop(['doctor', '--data-folder', folder], {
      CLAWLOOP_SERVING_PORT: new URL(loop.url).port,
      OPENCLAW_CONFIG_PATH: home.file,
    });
    expect(stdout).toContain(`OpenClaw uses clawloop/clawloop at ${loop.url}/v1`);
  });
});
