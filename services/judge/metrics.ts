import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { JobQueue } from '../../shared/queue/job-queue.ts';
import { watchObligations } from '../../shared/runtime/metrics.ts';
import type { OpenVotes } from './open-votes.ts';
import type { VoteJob } from './owed-votes.ts';
import { agreementOf } from './tally.ts';

export type JudgeMetrics = ReturnType<typeof createJudgeMetrics>;

export function createJudgeMetrics(registry: Registry, queue: JobQueue<VoteJob>, open: OpenVotes) {
  const registers = [registry];
  new Gauge({
    name: 'clawloop_judge_open_turns',
    help: 'turns that wait for votes',
    registers,
    collect() {
      this.set(open.turns());
    },
  });
  new Gauge({
    name: 'clawloop_judge_jobs',
    help: 'votes in the queue, by state',
    labelNames: ['state'],
    registers,
    async collect() {
      // an unreachable queue must not hide the other metrics
      const counts = await queue.counts().catch(() => undefined);
      if (counts === undefined) return this.reset();
      for (const [state, count] of Object.entries(counts)) this.set({ state }, count);
    },
  });
  watchObligations(registry, { votes: open.votes });
  return {
    /** Counts the verdicts among events that the fold emitted. */
    count: countVerdicts(registers),
    votes: new Counter({
      name: 'clawloop_judge_votes_total',
      help: 'votes cast; null: the judge answered without a verdict; hint, no hint: results of hint votes',
      labelNames: ['vote'],
      registers,
    }),
    late: new Counter({
      name: 'clawloop_judge_late_votes_total',
      help: 'votes cast on a turn that was already settled: recorded, but without effect',
      registers,
    }),
    failures: new Counter({
      name: 'clawloop_judge_failures_total',
      help: 'failed attempts to cast a vote',
      labelNames: ['reason'],
      registers,
    }),
    expired: new Counter({
      name: 'clawloop_judge_expired_total',
      help: 'turns whose votes did not all arrive before the deadline',
      registers,
    }),
    tokens: new Counter({
      name: 'clawloop_judge_tokens_total',
      help: 'tokens that judges read (prompt) and wrote (completion)',
      labelNames: ['kind'],
      registers,
    }),
    seconds: new Histogram({
      name: 'clawloop_judge_vote_seconds',
      help: 'duration of one vote, in seconds',
      buckets: [0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120],
      registers,
    }),
  };
}

/** Metrics of verdicts. Returns the function that counts the verdicts among events. */
function countVerdicts(registers: Registry[]): (events: readonly ClawLoopEvent[]) => void {
  const verdicts = new Counter({
    name: 'clawloop_verdicts_total',
    help: 'settled turns, by verdict (good, bad, neutral, unavailable) and source (votes, feedback, reward, reward+process)',
    labelNames: ['verdict', 'source'],
    registers,
  });
  const agreement = new Histogram({
    name: 'clawloop_judge_agreement',
    help: 'share of the valid votes of a turn that agree with its most common verdict; only turns with several valid votes',
    buckets: [0.34, 0.5, 0.67, 0.8, 0.99, 1],
    registers,
  });
  const countVerdict = (event: ClawLoopEvent): void => {
    if (event.type !== 'judgment.reached') return;
    const { score, source, votes } = event.data;
    const agreed = source === 'votes' ? agreementOf(votes) : undefined;
    if (agreed !== undefined) agreement.observe(agreed);
    const sign = score === null ? 'unavailable' : score > 0 ? 'good' : score < 0 ? 'bad' : 'neutral';
    verdicts.inc({ verdict: sign, source });
  };
  return (events) => events.forEach(countVerdict);
}
