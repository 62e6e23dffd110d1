import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { defined } from '../../shared/lang/defined.ts';
import { createRandom } from '../../shared/policy/model/random.ts';
import { until } from './harness/clawloop.ts';
import { type RlAnswer, type RlClient, rlClient } from './rl-client.ts';
import { scriptForEach } from './serving-on-script.ts';

const CLIENTS = 6;
const KILLS = 8;

const on = scriptForEach();

/** The confirmations of one session that a client received. */
type Confirmed = {
  readonly session: string;
  readonly answers: string[];
  readonly rewards: { readonly id: string; readonly score: number }[];
  ended: number | undefined;
};

test('every confirmation before a SIGKILL, at any moment, is true after it', async () => {
  // room for all sessions of a fast machine
  const start = () => on.start('--batch-size', '4096', '--max-sessions', '4096');
  await start();
  let isOver = false;
  const rl = rlClient(() => on.serving.url);
  /** Retries until there is an answer, as a program does while its server restarts. */
  const ask = async (work: () => Promise<RlAnswer>): Promise<RlAnswer> => {
    for (;;) {
      const answer = await work().catch(() => undefined);
      if (answer !== undefined && answer.status !== 503) return answer;
      await delay(50);
    }
  };
  const confirmed: Confirmed[] = [];
  const client = async (seed: number): Promise<void> => {
    const random = createRandom(seed);
    let key: string | undefined;
    while (!isOver) {
      const body = { task_id: `task-${seed}`, ...defined({ api_key: key }) };
      const started = await ask(() => rl.post('/rl/start_session', undefined, body));
      expect(started.status).toBe(200);
      const mine: Confirmed = {
        session: started.body.session_id,
        answers: [],
        rewards: [],
        ended: undefined,
      };
      confirmed.push(mine);
      await steps(rl, started.body.api_key, mine, random);
      key = random() < 0.5 ? started.body.api_key : undefined;
    }
  };
  const steps = async (
    { post }: RlClient,
    key: string,
    mine: Confirmed,
    random: () => number,
  ): Promise<void> => {
    for (;;) {
      const act = random();
      if (act < 0.5) {
        const body = { model: 'clawloop', messages: [{ role: 'user', content: 'hi' }] };
        const { status, body: answer } = await ask(() => post('/chat/completions', key, body));
        expect(status).toBe(200);
        mine.answers.push(answer.id);
      } else if (act < 0.8 && mine.answers.length > 0) {
        const score = Math.round(random() * 100) / 100;
        const id = mine.answers[Math.floor(random() * mine.answers.length)]!;
        const body = { reward: score, interaction_id: id };
        const { status } = await ask(() => post('/rl/set_reward', key, body));
        expect(status).toBe(200);
        mine.rewards.push({ id, score });
      } else if (act > 0.9) {
        if (random() < 0.3) return; // left open, or refreshed
        const { status, body } = await ask(() => post('/rl/end_session', key));
        expect(status).toBe(200);
        mine.ended = body.interaction_count;
        return;
      }
    }
  };

  const clients = Array.from({ length: CLIENTS }, (_, seed) => client(seed + 1));
  const random = createRandom(99);
  for (let kill = 0; kill < KILLS; kill++) {
    await delay(200 + random() * 800);
    process.kill(on.serving.pid, 'SIGKILL');
    await until('it is gone', () => !on.serving.isAlive());
    await start();
  }
  // on a slow machine, serving is up only briefly between two kills
  const enough = (count: number) => count > 2 * CLIENTS;
  await until('there are enough confirmations', () =>
    [confirmed, confirmed.flatMap(({ rewards }) => rewards)].every(({ length }) => enough(length)),
  );
  isOver = true;
  await Promise.all(clients);

  const facts = new Map<string, ClawLoopEvent[]>();
  const lanes = new Map<string, string>();
  const seen = new Set<string>();
  for (const event of await on.folder.events('conversations')) {
    if (seen.has(event.id)) continue; // the log may contain a fact twice
    seen.add(event.id);
    if (event.type === 'session.started') lanes.set(event.data.session, event.subject);
    facts.set(event.subject, [...(facts.get(event.subject) ?? []), event]);
  }
  const listed = new Map<string, { state: string; interaction_count: number; rewards: object[] }>(
    (await rl.get('/rl/sessions')).body.data.map((one: { session_id: string }) => [one.session_id, one]),
  );
  for (const { session, answers, rewards, ended } of confirmed) {
    const own = facts.get(lanes.get(session)!)!;
    const end = own.findIndex(({ type }) => type === 'session.ended');
    const before = end < 0 ? own : own.slice(0, end);
    const ids = before.flatMap(({ type, id }) => (type === 'interaction.completed' ? [id] : []));
    const given = before.flatMap((event) => (event.type === 'feedback.given' ? [event.data] : []));
    expect(own.filter(({ type }) => type === 'session.ended').length).toBeLessThanOrEqual(1);
    for (const id of answers) expect(ids).toContain(id);
    for (const { id, score } of rewards)
      expect(given.some((one) => one.interactionId === id && one.score === score)).toBe(true);
    const last = new Map(rewards.map(({ id, score }) => [id, score]));
    for (const [id, score] of last)
      expect(given.findLast(({ interactionId }) => interactionId === id)!.score).toBe(score);
    if (ended !== undefined) expect(ended).toBe(ids.length);
    if (end >= 0 && ids.length > 0) expect(given.length).toBeGreaterThan(0);
    const shown = listed.get(session);
    if (shown === undefined) continue; // one of the latest thousand ended after it
    expect(shown).toMatchObject({ state: end < 0 ? 'open' : 'ended', interaction_count: ids.length });
    expect(shown.rewards).toHaveLength(new Set(given.map(({ interactionId }) => interactionId)).size);
  }
}, 480_000);
