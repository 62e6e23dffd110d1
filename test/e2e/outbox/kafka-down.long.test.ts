import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withRedis } from '../../contract/bullmq-redis.ts';
import { describeWithKafka } from '../../contract/kafka-node.ts';
import { clawloop, freePort, until } from '../harness/clawloop.ts';
import { type Answer, ask, askStreaming, type Message, post, untilItServes } from '../replicas/chat.ts';
import { type Deployment, openDeployment, type Replica } from '../replicas/deployment.ts';
import { type LogReader, openLogReader } from '../replicas/log-reader.ts';

const timing = ['--session-timeout-ms', '4000'];
const reactions = ['Perfect, thanks!', 'No lists, please.', 'Great, thank you!', 'And for a child?'];

describeWithKafka('while Kafka is down', (kafka) => {
  withRedis('and Redis is there', (redis) => {
    let deployment: Deployment;
    let serving: Replica;
    let other: Replica;
    let log: LogReader;
    /** Ids of the answers of each session, in order. */
    const said = new Map<string, string[]>();
    let rated: string;

    const keep = (session: string, { id }: Answer) => said.set(session, [...(said.get(session) ?? []), id]);
    /** One conversation whose requests alternate between the servings, and between streamed and plain. */
    const converse = async (session: string, through: readonly Replica[]) => {
      const messages: Message[] = [{ role: 'user', content: `How do I pack for ${session}?` }];
      const answers: Answer[] = [];
      for (const [index, reaction] of reactions.entries()) {
        const one = through[index % through.length]!;
        const answer = await (index % 2 === 0 ? ask : askStreaming)(one, messages, {
          session,
          maxTokens: 60,
        });
        keep(session, answer);
        answers.push(answer);
        messages.push({ role: 'assistant', content: answer.text }, { role: 'user', content: reaction });
      }
      return answers;
    };
    const outbox = async () =>
      (await readdir(join(deployment.folder, 'outbox'))).filter((name) => name.endsWith('.json'));
    const outboxIsEmpty = () => until('the outbox is empty', async () => (await outbox()).length === 0);
    const readiness = async ({ url }: Replica) => {
      const response = await fetch(`${url}/readyz`);
      return { status: response.status, body: await response.json() };
    };

    beforeAll(async () => {
      deployment = await openDeployment({ kafka: kafka().brokers, redis: redis().url });
      serving = await deployment.start('serving', timing);
      other = await deployment.start('serving', timing);
      const rest = await Promise.all([
        deployment.start('collector', timing),
        deployment.start('judge', timing),
        deployment.start('trainer', timing),
      ]);
      for (const one of [serving, other, ...rest]) await deployment.ready(one);
      log = await openLogReader(deployment.folder);
      for (const name of ['a lake', 'a hill']) await converse(name, [serving, other]);
      await until('a version is promoted', () => log.of('policy.promoted').length > 0, 180_000);
      await untilItServes(serving, (version) => version > 0);
    });
    afterAll(async () => {
      await log?.close();
      await deployment?.dispose();
    });

    test('chat, streamed and plain, feedback and the end of sessions work as before', async () => {
      const served = (await ask(serving, [{ role: 'user', content: 'Hello.' }], { maxTokens: 2 })).version;
      await log.quiet();
      await kafka().kill();
      const answers = [...(await converse('a desert', [serving])), ...(await converse('a city', [other]))];
      expect(answers.every(({ recorded, text }) => recorded && text !== '')).toBe(true);
      expect(answers.every(({ version }) => version >= served)).toBe(true);
      expect(await readiness(serving)).toMatchObject({ status: 200 });
      rated = answers.find(({ isCut }) => !isCut)!.id;
      const feedback = await post(other, '/v1/feedback', { completion_id: rated, rating: 'down' });
      expect(feedback).toMatchObject({ status: 200, body: { recorded: true } });
      const ended = await post(serving, '/v1/sessions/end', { session: 'a city' });
      expect(ended).toMatchObject({ status: 202, body: { accepted: true } });
    });

    test('the outbox has the events, and the metrics report them', async () => {
      const waiting = (await outbox()).length;
      expect(waiting).toBeGreaterThanOrEqual(10);
      await until(
        'both see it',
        async () =>
          (await serving.metric('clawloop_serving_outbox_depth')) === waiting &&
          (await other.metric('clawloop_serving_outbox_depth')) === waiting,
      );
      // one serving drains for both
      await until('it reports that it waits', () =>
        [serving, other].some((one) => /events wait in the outbox/.test(one.output())),
      );
    });

    test('a rollback is refused with the reason', async () => {
      const { code, stderr } = await clawloop(['policy', 'rollback', '0']);
      expect(code).not.toBe(0);
      expect(stderr).toMatch(/kafka|broker|127\.0\.0\.1|ECONNREFUSED/i);
    });

    test('a killed serving loses nothing; after its restart it logs that it waits for Kafka', async () => {
      const before = await outbox();
      const gone = serving;
      await gone.end('SIGKILL');
      serving = await deployment.start('serving', timing, { port: await freePort() });
      await until('it logs the reason for its wait', () => /waiting for.*Kafka/i.test(serving.output()));
      expect(serving.isAlive()).toBe(true);
      await converse('an island', [other]); // chat continues through the other serving
      expect((await outbox()).slice(0, before.length)).toEqual(before);
    });

    test('when Kafka is back, the log gets the events in order, each counts once, and the audit balances', async () => {
      await kafka().restart();
      await deployment.ready(serving);
      await outboxIsEmpty();
      await converse('a river', [serving, other]);
      await outboxIsEmpty(); // a Kafka that has just started may answer late
      await log.reachEnd();
      await log.quiet();
      const facts = log.of('interaction.completed');
      for (const [session, ids] of said) {
        const found = facts.filter(({ data }) => data.session === session).map(({ id }) => id);
        expect([...new Set(found)], session).toEqual(ids);
      }
      // events in flight during the kill or the restart of Kafka may or may not be in the log, so they are sent again
      const copies = facts.length - new Set(facts.map(({ id }) => id)).size;
      expect(copies).toBeLessThanOrEqual(3);
      const completed = log.of('turn.completed').map(({ data }) => data.turnId);
      expect(new Set(completed).size).toBe(completed.length);
      expect(new Set(log.of('feedback.given').map(({ id }) => id)).size).toBe(1);
      const judgments = log.of('judgment.reached');
      expect(judgments.find(({ data }) => data.turnId === rated)?.data).toMatchObject({
        score: -1,
        source: 'feedback',
      });
      expect(await deployment.command('audit')).toMatch(/balances/);
      await deployment.command('policy', 'rollback', '0');
      await Promise.all([serving, other].map((one) => untilItServes(one, (version) => version === 0)));
    });

    test('a Kafka that hangs costs one wait, not one per answer', async () => {
      await outboxIsEmpty(); // otherwise no answer would wait
      await log.quiet();
      const waits = () =>
        (serving.output().match(/"msg":"could not append to the log; using the outbox"/g) ?? []).length;
      const before = waits();
      kafka().signal('SIGSTOP');
      const began = performance.now();
      const answers = await converse('a beach', [serving]);
      const tookMs = performance.now() - began;
      expect(answers.every(({ recorded }) => recorded)).toBe(true);
      // the first waits for the log for 2 s; the others find the outbox in use
      expect(waits() - before, `${Math.round(tookMs)} ms`).toBe(1);
      kafka().signal('SIGCONT');
      await outboxIsEmpty();
      await log.quiet();
      const found = log.of('interaction.completed').filter(({ data }) => data.session === 'a beach');
      expect([...new Set(found.map(({ id }) => id))]).toEqual(said.get('a beach'));
      expect(await deployment.command('audit')).toMatch(/balances/);
    });
  });
});
