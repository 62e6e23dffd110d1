import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pluginFolder } from '../../../services/cli/openclaw/plugin.ts';
import { attribute } from '../../../services/collector/attribute.ts';
import { runFold } from '../../../services/collector/testing/run-fold.ts';
import { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import type { SessionEnded } from '../../../shared/events/session-ended.ts';
import { type ClawLoop, clawloop, startClawLoop, until } from '../harness/clawloop.ts';
import { describeWithOpenClaw } from './describe-with-openclaw.ts';
import { type OpenClawHome, openClawHome } from './gateway.ts';
import { type PlacedRequest, placedRequests, recordedRequests } from './placed-requests.ts';
import { expectedTurns, play, type SessionName, scenario, scenarioSettings } from './scenario.ts';
import { type ScriptedUpstream, scriptedUpstream } from './scripted-upstream.ts';
import { tailed } from './tailed.ts';
import type { Kind } from './what-is-asked.ts';

/** A long limit for a busy machine, because each reading of the log is a separate process. */
const patiently = <Result>(what: string, condition: () => Promise<Result | false>) =>
  until(what, condition, 180_000);
const KEY = 'key-of-the-plugin-test';
const sessionNames = Object.keys(scenario) as readonly SessionName[];
/** Requests beside every conversation, without a run. */
const ofNoSession: readonly Kind[] = ['recap', 'title'];

describeWithOpenClaw('the real OpenClaw, with the plugin', () => {
  let folder: string;
  let loop: ClawLoop;
  let upstream: ScriptedUpstream;
  const homes: OpenClawHome[] = [];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clawloop-openclaw-plugin-'));
    upstream = await scriptedUpstream();
    loop = await startClawLoop(folder, [
      '--serving-engine',
      'upstream',
      '--serving-upstream-url',
      upstream.url,
      '--serving-upstream-token-ids',
      '--serving-upstream-logprobs',
      'raw',
      '--serving-api-key',
      KEY,
      '--collector-batch-size',
      '1000', // nothing is trained here
    ]);
  });
  afterAll(async () => {
    for (const home of homes) await home.dispose();
    await loop?.stop();
    await upstream?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const newHome = async (...config: readonly string[]) => {
    const home = await openClawHome(loop.url, ['--key', KEY, ...config]);
    homes.push(home);
    return home;
  };
  const ends = async () =>
    (await tailed<SessionEnded>(folder, 'conversations', 'session.ended')).map(({ data }) => data.session);
  const allPlaced = (isOpen: (one: PlacedRequest) => boolean) =>
    patiently('every request is in the log and attributed', async () => {
      const found = await placedRequests(folder, upstream.served);
      const recorded = await recordedRequests(folder, upstream.served, found);
      const waits = found.some((one) => one.place === undefined && !isOpen(one));
      return found.length === recorded.length && !waits && found;
    });

  test('installed by its own command, it declares the same as the rules find, and ends sessions', async () => {
    const home = await newHome();
    const installed = await home.openclaw([
      'plugins',
      'install',
      pluginFolder,
      '--force',
      '--accept-capabilities',
    ]);
    expect(installed).toMatchObject({ code: 0 });
    const entries = { 'rl-training-headers': { hooks: { allowConversationAccess: true } } };
    await home.configure({ ...scenarioSettings(await home.settings()), plugins: { entries } });
    const gateway = await home.start();
    const ids = await play(gateway, home, upstream);
    expect((await ends()).filter((id) => Object.values(ids).includes(id))).toEqual([]);

    await gateway.call('sessions.reset', { key: 'agent:main:garden', reason: 'new' });
    await patiently('the end of the garden', async () => (await ends()).includes(ids.garden));
    await gateway.call('sessions.delete', { key: 'agent:main:kitchen' });
    await patiently('the end of the kitchen', async () => (await ends()).includes(ids.kitchen));
    expect(await ends()).not.toContain(ids.main);
    await gateway.stop();
    await patiently('the end of the main session', async () => (await ends()).includes(ids.main)).catch(
      (error: Error) => {
        throw new Error(`${error.message}\n${gateway.output().slice(-4_000)}`);
      },
    );
    expect(gateway.output()).not.toMatch(/could not report|allowConversationAccess/);

    const requests = await allPlaced((one) => one.interaction.session === ids.fence);
    for (const { kind, words, n, headers, interaction, place } of requests) {
      const type = kind === 'conversation' ? 'main' : 'side';
      const declared = {
        n,
        kind,
        words,
        type: interaction.turnType,
        session: interaction.session !== undefined,
      };
      expect(declared).toEqual({ n, kind, words, type, session: !ofNoSession.includes(kind) });
      expect({ n, words, rule: place?.rule ?? `explicit-${type}` }).toEqual({
        n,
        words,
        rule: place?.reason === 'empty' ? 'empty' : `explicit-${type}`,
      });
      expect(headers).not.toHaveProperty('x-turn-type'); // for serving only, not forwarded to the engine
    }
    for (const name of sessionNames) {
      const turns = requests.filter(
        ({ kind, words }) => kind === 'conversation' && scenario[name].some((said) => said === words),
      );
      expect(turns).toHaveLength(expectedTurns(name).length);
      expect(new Set(turns.map(({ interaction }) => interaction.session))).toEqual(new Set([ids[name]]));
    }
    expect(requests.filter(({ place }) => place?.disagreement !== undefined)).toEqual([]);
    expect(attributedWithout(requests)).toEqual(attributedWith(requests));
    expect((await clawloop(['audit', '--data-folder', folder])).stdout).toMatch(/balances/);
  });

  test('by settings alone, for a provider of another name', async () => {
    const home = await newHome('--plugin');
    const before = new Set((await placedRequests(folder, upstream.served)).map(({ n }) => n));
    const { models, plugins } = (await home.settings()) as Written;
    expect(plugins.load.paths).toEqual([pluginFolder]);
    const entries = { 'rl-training-headers': { config: { providers: ['tier'] } } };
    await home.configure({
      models: { providers: { tier: models.providers.clawloop } },
      agents: { defaults: { model: { primary: 'tier/clawloop' } } },
      plugins: { entries },
    });
    const gateway = await home.start();
    const [one, two] = await Promise.all([
      gateway.say('shed', 'A shed, please.'),
      gateway.say('wall', 'A wall.'),
    ]);
    await gateway.call('sessions.delete', { key: 'agent:main:shed' });
    await patiently('the end of the shed', async () => (await ends()).includes(one.sessionId));
    await gateway.stop();
    await patiently('the end of the wall', async () => (await ends()).includes(two.sessionId));
    const requests = await patiently('both requests are in the log', async () => {
      const found = await placedRequests(folder, upstream.served);
      const added = found.filter(({ n }) => !before.has(n));
      return added.length >= 2 && added;
    });
    const said = requests.map(({ words, interaction }) => ({
      words,
      session: interaction.session,
      type: interaction.turnType,
    }));
    expect(said.toSorted((a, b) => a.words.localeCompare(b.words))).toEqual([
      { words: 'A shed, please.', session: one.sessionId, type: 'main' },
      { words: 'A wall.', session: two.sessionId, type: 'main' },
    ]);
  });
});

type Written = {
  readonly models: { readonly providers: { readonly clawloop: object } };
  readonly plugins: { readonly load: { readonly paths: readonly string[] } };
};

/**
 * The attribution of a request: main or side, session and next state. Requests without a session are left out. The
 * session is left out if the rules do not know it yet: for an open turn, and for a compaction that repeats no words of
 * a person.
 */
type Attributed = { readonly n: number; readonly is: string };

const briefly = (
  requests: readonly PlacedRequest[],
  placeOf: (one: PlacedRequest) => PlacedRequest['place'],
) =>
  requests
    .filter(({ kind }) => !ofNoSession.includes(kind))
    .map((one): Attributed => {
      const place = placeOf(one);
      const next = place?.next?.map(({ role, content }) => `${role} ${JSON.stringify(content)}`).join();
      const type = place === undefined || place.reason !== 'side' ? 'main' : 'side';
      const isOpenToBoth = type === 'main' || one.kind === 'compaction';
      const session = place?.session ?? (isOpenToBoth ? one.interaction.session : undefined);
      return { n: one.n, is: [one.kind, type, session, next].join(' ') };
    });

const attributedWith = (requests: readonly PlacedRequest[]) => briefly(requests, ({ place }) => place);

/** The same requests without their declarations, attributed by the rules alone. */
function attributedWithout(requests: readonly PlacedRequest[]) {
  const answered = ({ interaction: { timing } }: PlacedRequest) =>
    Date.parse(timing.startedAt) + timing.totalMs;
  const inOrder = requests.toSorted((a, b) => answered(a) - answered(b));
  const unsaid = inOrder.map(({ interaction, traceparent }) => {
    const { session: _, turnType: __, ...data } = interaction;
    return InteractionCompleted.create({
      id: data.interactionId,
      source: 'clawloop/test',
      time: data.timing.startedAt,
      traceparent,
      data: { ...data, lane: 'one' },
    });
  });
  const { emitted } = runFold(attribute, unsaid, {});
  return briefly(requests, ({ interaction: { interactionId } }) => {
    const fact = emitted.find(({ id }) =>
      [`${interactionId}/completed`, `${interactionId}/skipped`].includes(id),
    );
    switch (fact?.type) {
      case 'turn.completed':
        return { ...fact.data, reason: undefined };
      case 'turn.skipped':
        return { ...fact.data, rule: fact.data.rule, session: fact.data.session, next: undefined };
      default:
        return undefined;
    }
  });
}
