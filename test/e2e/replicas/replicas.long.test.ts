import { afterAll, beforeAll, expect, test } from 'vitest';
import { withRedis } from '../../contract/bullmq-redis.ts';
import { describeWithKafka } from '../../contract/kafka-node.ts';
import { until } from '../harness/clawloop.ts';
import { type Answer, ask, converse, post, untilItServes } from './chat.ts';
import { type Deployment, openDeployment, type Replica, type ServiceName } from './deployment.ts';
import { areSharedBy, sharesOf } from './group-members.ts';
import { type LogReader, openLogReader } from './log-reader.ts';

const collectorGroups = ['attribute', 'assemble', 'submit'] as const;
/** Short, so that a dead member is noticed soon, but long enough for a busy machine. */
const timing = ['--session-timeout-ms', '4000'];
const reactions = ['Perfect, thanks!', 'No lists, please.', 'Great, thank you!', 'Please skip the greeting.'];

describeWithKafka('several replicas of a service on Kafka', (kafka) => {
  withRedis('and Redis', (redis) => {
    let deployment: Deployment;
    let log: LogReader;
    let servings: [Replica, Replica];
    let collectors: [Replica, Replica];
    let judges: [Replica, Replica];
    let trainers: [Replica, Replica];

    const pair = async (service: ServiceName, flags: readonly string[] = []): Promise<[Replica, Replica]> => [
      await deployment.start(service, [...timing, ...flags]),
      await deployment.start(service, [...timing, ...flags]),
    ];
    const isShared = async (groups: readonly string[], replicas: readonly Replica[]) => {
      const shares = await sharesOf(kafka().brokers, groups);
      const pids = replicas.map(({ pid }) => pid);
      return groups.every((group) => areSharedBy(shares.get(group), pids));
    };
    /** Conversations whose requests go to the servings in turn; the first answers of each. */
    const conversations = async (name: string, count: number, through: readonly Replica[]) => {
      const first: Answer[] = [];
      for (let index = 0; index < count; index++) {
        const lines = [`How do I pack for ${name} number ${index}?`, reactions[index % reactions.length]!];
        const answers = await converse(through, lines, { session: `${name}-${index}` });
        first.push(answers[0]!);
      }
      return first;
    };
    /** Only turns with a whole answer; an answer that is cut off is not judged. */
    const areJudged = async (answers: readonly Answer[]) => {
      const whole = answers.filter(({ isCut }) => !isCut);
      expect(whole.length).toBeGreaterThan(0);
      for (const { id } of whole) await judgmentOf(id);
    };
    const judgmentOf = (turnId: string) =>
      log.first(`${turnId} is judged`, 'judgment.reached', (data) => data.turnId === turnId, 180_000);
    const head = () => log.of('policy.promoted').reduce((newest, { data }) => Math.max(newest, data.to), 0);

    beforeAll(async () => {
      deployment = await openDeployment({ kafka: kafka().brokers, redis: redis().url });
      await deployment.command('topics', 'create');
      [servings, collectors, judges] = await Promise.all([
        pair('serving'),
        pair('collector', ['--sweep-ms', '1000']),
        pair('judge'),
      ]);
      const trainer = await deployment.ready(await deployment.start('trainer', timing));
      trainers = [trainer, await deployment.start('trainer', timing)];
      for (const one of [...servings, ...collectors, ...judges]) await deployment.ready(one);
      log = await openLogReader(deployment.folder);
    });
    afterAll(async () => {
      await log?.close();
      await deployment?.dispose();
    });

    test('both collectors and both judges have partitions', async () => {
      await until(
        'the partitions are shared',
        async () => (await isShared(collectorGroups, collectors)) && (await isShared(['judge'], judges)),
      );
    });

    test('a conversation that moves from one serving to the other is one session, and is judged', async () => {
      const lines = ['How do I boil an egg?', ...reactions.slice(0, 3), 'And with less salt?'];
      const answers = await converse(servings, lines); // no session id: found by content alone
      const turns = await Promise.all(
        answers
          .slice(0, -1)
          .filter(({ isCut }) => !isCut)
          .map(({ id }) =>
            log.first('the turn is completed', 'turn.completed', (data) => data.turnId === id),
          ),
      );
      expect(new Set(turns.map(({ data }) => data.session)).size).toBe(1);
      await areJudged(answers.slice(0, -1));
    });

    test('both serve a new version, and an audit balances even while people chat', async () => {
      const talk = conversations('a trip', 8, servings);
      expect(await deployment.command('audit')).toMatch(/balances/);
      await talk;
      await until('a version is promoted', () => head() >= 1, 180_000);
      await Promise.all(servings.map((one) => untilItServes(one, (version) => version >= 1)));
      // either worker may get a job
      await until('both judges have voted', async () => {
        await areJudged(await conversations('a share', 1, servings));
        const votes = await Promise.all(judges.map((one) => one.metric('clawloop_judge_votes_total')));
        return votes.every((count) => count > 0);
      });
    });

    test('feedback, rewards and the end of a session also work through a serving that gave no answer', async () => {
      const [a, b] = servings;
      const asked = (session: string) =>
        until('an answer is whole', async () => {
          const [answer] = await converse([a], ['What is a good supper?'], { session });
          return answer!.isCut ? undefined : answer;
        });
      const paid = await asked('paid');
      const reward = { completion_id: paid.id, reward: -0.5 };
      expect((await post(b, '/v1/feedback', reward)).status).toBe(200);
      expect((await post(b, '/v1/sessions/end', { session: 'paid' })).status).toBe(202);
      expect((await judgmentOf(paid.id)).data).toMatchObject({ score: -0.5, source: 'feedback' });
      const liked = await asked('liked');
      expect((await post(b, '/v1/feedback', { completion_id: liked.id, rating: 'up' })).status).toBe(200);
      expect((await post(b, '/v1/sessions/end', { session: 'liked' })).status).toBe(202);
      expect((await judgmentOf(liked.id)).data).toMatchObject({ score: 1, source: 'feedback' });
    });

    test('a rollback reaches both, and no version is trained while learning is paused', async () => {
      await deployment.command('learning', 'pause');
      await log.quiet();
      await deployment.command('policy', 'rollback', '0');
      await Promise.all(servings.map((one) => untilItServes(one, (version) => version === 0)));
      const batches = log.of('batch.submitted').length;
      await conversations('a pause', 5, servings);
      await log.quiet();
      expect(log.of('batch.submitted')).toHaveLength(batches);
      await deployment.command('learning', 'resume');
      await until('it learns again', () => log.of('batch.submitted').length > batches);
    });

    test('a judge that is stopped for a while loses no votes', async () => {
      const [held, other] = judges;
      await conversations('a long walk', 2, servings);
      held.signal('SIGSTOP');
      await until('the other holds all', () => isShared(['judge'], [other]));
      const meanwhile = await conversations('a short walk', 3, servings);
      await areJudged(meanwhile);
      held.signal('SIGCONT');
      const after = await conversations('a slow walk', 4, servings);
      await areJudged(after);
      await until('they share again', () => isShared(['judge'], judges));
    });

    test('after the kill of any replica, the others continue with its partitions', async () => {
      expect(trainers[1].output()).toMatch(/another trainer is using these checkpoints/);
      expect(await trainers[1].isReady()).toBe(false);
      for (const [first] of [servings, collectors, judges, trainers]) process.kill(first.pid, 'SIGKILL');
      const before = head();
      const answers = await conversations('a fresh start', 8, [servings[1]]);
      expect(answers.every(({ recorded }) => recorded)).toBe(true);
      await until(
        'their partitions have moved',
        async () =>
          (await isShared(collectorGroups, [collectors[1]])) && (await isShared(['judge'], [judges[1]])),
      );
      await areJudged(answers);
      await until('another version is promoted', () => head() > before, 180_000);
      const newest = head();
      await untilItServes(servings[1], (version) => version >= newest);
      const back = await deployment.ready(await deployment.start('serving', timing));
      const { version } = await ask(back, [{ role: 'user', content: 'Good evening.' }], { maxTokens: 2 });
      expect(version).toBeGreaterThanOrEqual(newest);
    });

    test('the audit balances, and every version can be replayed from the log', async () => {
      await log.quiet();
      expect(await deployment.command('audit')).toMatch(/balances/);
      await deployment.command('replay');
    });
  });
});
