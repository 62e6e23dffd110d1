import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { userWords } from '../../../shared/chat/normalise.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import { type ClawLoop, clawloop, startClawLoop, until } from '../harness/clawloop.ts';
import { describeWithOpenClaw } from './describe-with-openclaw.ts';
import { type OpenClawHome, openClawHome } from './gateway.ts';
import { type PlacedRequest, placedRequests, recordedRequests } from './placed-requests.ts';
import {
  expectedTurns,
  FENCE,
  play,
  type SessionName,
  scenario,
  scenarioSettings,
  TOOL,
} from './scenario.ts';
import { type ScriptedUpstream, scriptedUpstream } from './scripted-upstream.ts';
import type { Kind } from './what-is-asked.ts';

describeWithOpenClaw('the real OpenClaw, without a plugin', () => {
  let folder: string;
  let loop: ClawLoop;
  let upstream: ScriptedUpstream;
  let home: OpenClawHome;
  let ids: Readonly<Record<SessionName | 'fence', string>>;
  let requests: readonly PlacedRequest[];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clawloop-openclaw-'));
    upstream = await scriptedUpstream();
    loop = await startClawLoop(folder, [
      '--serving-engine',
      'upstream',
      '--serving-upstream-url',
      upstream.url,
      '--serving-upstream-token-ids',
      '--serving-upstream-logprobs',
      'raw',
      '--collector-batch-size',
      '1000', // nothing is trained here
    ]);
    home = await openClawHome(loop.url);
    await home.configure(scenarioSettings(await home.settings()));
    const gateway = await home.start();
    ids = await play(gateway, home, upstream);
    await gateway.stop();
    // if a request is not attributed, the tests below name it
    requests = await until('every request is attributed', allPlaced).catch(found);
  });
  const found = () => placedRequests(folder, upstream.served);
  const allPlaced = async () => {
    const requests = await found();
    const recorded = await recordedRequests(folder, upstream.served, requests);
    const open = requests.filter(({ place }) => place === undefined);
    return requests.length === recorded.length && open.length === stayOpen && requests;
  };
  afterAll(async () => {
    await home?.dispose();
    await loop?.stop();
    await upstream?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const nameOf = (session: string | undefined) =>
    session === undefined ? '-' : (Object.entries(ids).find(([, id]) => id === session)?.[0] ?? 'another');
  const ofKind = (kind: Kind) => requests.filter((one) => one.kind === kind);
  const placesOf = (kind: Kind) => [
    ...new Set(ofKind(kind).map(({ place }) => `${nameOf(place?.session)} ${place?.rule} ${place?.reason}`)),
  ];

  test('no request declares its session or kind, and failed requests were retried', async () => {
    expect(await home.settings()).not.toHaveProperty('plugins');
    for (const { interaction } of requests) {
      expect(interaction).not.toHaveProperty('session');
      expect(interaction).not.toHaveProperty('turnType');
    }
    const recorded = await recordedRequests(folder, upstream.served, requests);
    expect(requests.map(({ n }) => n)).toEqual(recorded.map(({ n }) => n));
    const failures = upstream.served.filter(({ outcome }) => outcome !== 'answered');
    expect(failures.map(({ outcome }) => outcome)).toEqual(['busy', 'cut']);
  });

  test.each([
    ['memory-flush', 'garden'],
    ['compaction', 'garden'],
    ['heartbeat', 'main'],
    ['announce', 'main'],
    ['cron', 'main'],
    ['repair', 'kitchen'],
    ['subagent', 'another'],
    ['title', '-'],
  ] as const)('%s: a side request of %s, by its own rule', (kind, session) => {
    expect(placesOf(kind)).toEqual([`${session} ${kind} side`]);
  });

  test('recaps are side requests of the conversation whose words they repeat, or of none', () => {
    const beginnings = Object.entries({ ...scenario, fence: [FENCE] }).flatMap(([name, said]) =>
      said.map((words) => ({ name, words: words.slice(0, 30) })),
    );
    const places = ofKind('recap').map(({ words, place }) => {
      expect(place).toMatchObject({ rule: 'recap', reason: 'side' });
      const owner = beginnings.find((one) => words.includes(one.words))?.name ?? '-';
      return { owner, session: nameOf(place?.session) };
    });
    const found = places.filter(({ session }) => session !== '-');
    expect(found.filter(({ owner, session }) => owner !== session)).toEqual([]);
    expect(found.length).toBeGreaterThan(places.length / 3);
  });

  test.each(sessionNames)('%s is one session, and its turns have the right next states', (name) => {
    const turns = ofKind('conversation').filter(({ words }) => scenario[name].some((said) => said === words));
    const seen = turns.map(({ words, place }) => ({ words, next: place?.next?.map(shortText) }));
    expect(seen).toEqual(expectedTurns(name));
    for (const { words, place } of turns.filter((turn) => turn.place !== undefined))
      expect({ words, session: nameOf(place!.session), rule: place!.rule }).toEqual({
        words,
        session: name,
        rule: place!.reason === 'empty' ? 'empty' : 'conversation',
      });
  });

  test('the audit balances', async () => {
    const audit = await clawloop(['audit', '--data-folder', folder]);
    expect(audit.stdout).toMatch(/balances/);
  });
});

const sessionNames = Object.keys(scenario) as readonly SessionName[];
/** Number of turns without a next state: the last one of each conversation, and those before a client's own request. */
const stayOpen =
  1 + // of the fence
  sessionNames
    .flatMap((name) => expectedTurns(name))
    .filter(({ words, next }) => next === undefined && !words.includes('think first')).length;

/** A message of the next state in the form that judges receive. */
const shortText = (message: ChatMessage): string => (message.role === 'tool' ? TOOL : userWords(message));
