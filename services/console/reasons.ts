import type { PolicyRejected } from '../../shared/events/policy-rejected.ts';
import type { PolicyUpdateFailed } from '../../shared/events/policy-update-failed.ts';
import type { SampleDropped } from '../../shared/events/sample-dropped.ts';
import type { TurnSkipped } from '../../shared/events/turn-skipped.ts';
import type { TurnView } from '../../shared/views/turn-view.ts';

type Reason =
  | TurnSkipped['data']['reason']
  | SampleDropped['data']['reason']
  | PolicyRejected['data']['reason']
  | PolicyUpdateFailed['data']['reason']
  | 'pinned'
  | 'parent-rolled-back';

/** Why a turn did not train, and what a person can change so that the next one does. */
export type Explanation = { readonly why: string; readonly change: string };

const KEEP_TALKING = 'Nothing has to change. Go on talking.';

const explanations: Readonly<Record<Reason, Explanation>> = {
  pinned: {
    why: 'A fixed version answered, for example @base. Only answers of the live version train.',
    change: 'Ask the model clawloop, without @.',
  },
  side: {
    why: 'The request was beside the conversation, such as a title or a summary.',
    change: 'If it was the conversation, let the client send X-Turn-Type: main.',
  },
  secret: {
    why: 'The answer or the hint contains a secret, such as a key or a password.',
    change: 'Keep secrets out of the conversation. Change this one if it is real.',
  },
  aborted: {
    why: 'The answer was cut off by the client, a filter or an error.',
    change: 'Let the answer end before you go on.',
  },
  truncated: {
    why: 'The answer reached its token limit.',
    change: 'Raise max_tokens of the client.',
  },
  empty: { why: 'The answer has no visible text and no tool call.', change: 'Ask again.' },
  'unknown-finish-reason': {
    why: 'The engine ended the answer for an unknown reason.',
    change: 'See which reason in the record, and check the engine.',
  },
  superseded: {
    why: 'Another answer to the same request was kept.',
    change: 'Nothing has to change: the kept answer counts.',
  },
  'no-next-state': {
    why: 'The session ended, and nobody reacted to the answer.',
    change: 'React to the answer in the same conversation, or give it a thumb.',
  },
  'no-reward': {
    why: 'The session gets its verdicts from rewards, but ended without a reward.',
    change: 'Let the program set a reward before it ends the session.',
  },
  discarded: { why: 'The client discarded the session.', change: 'End the session without discard.' },
  deleted: { why: 'The answer was deleted.', change: 'A deleted answer never trains.' },
  withdrawn: { why: 'An operator withdrew the turn.', change: 'A withdrawn turn never trains.' },
  'too-late': {
    why: 'The record or the evidence came a day late, when the turn was forgotten.',
    change: 'React within a day. If records come late, check the outbox of serving.',
  },
  'too-large': {
    why: 'The exchange is larger than the largest record, so its text was not recorded.',
    change: 'Raise --serving-max-record-bytes, or send less.',
  },
  'no-token-ids': {
    why: 'The engine gave no token ids, or no logprobs that fit them.',
    change: 'Start vLLM or SGLang as docs/operate/upstream.md says.',
  },
  'logprob-temperature': {
    why: 'The engine gives no logprobs at the temperature that it sampled with.',
    change: 'Set --serving-upstream-logprobs to what the engine gives.',
  },
  'mixed-versions': {
    why: 'The upstream engine used more than one version for the answer.',
    change: 'Ask again. If it happens often, let ClawLoop load the adapters.',
  },
  penalties: {
    why: 'Penalties or logit_bias changed how tokens were sampled.',
    change: 'Leave out these fields in the client.',
  },
  constrained: {
    why: 'A format or a forced call excluded too many tokens to record.',
    change: 'Nothing has to change, unless all requests force a format.',
  },
  'record-gone': {
    why: 'The record of the answer, or of what followed, is missing or unreadable.',
    change: 'Run an audit. On Kafka, check the retention of the topics.',
  },
  'no-verdict': {
    why: 'The reaction was heard as neither good nor bad.',
    change: 'Say it plainly: "too long, two sentences please", or give a thumb.',
  },
  'no-hint': {
    why: 'The adapter learns from hints only, and there was none.',
    change: 'Say what you want instead, or use the method combine.',
  },
  unavailable: {
    why: 'There was no judgment: votes were missing at the deadline.',
    change: 'Check that the judge runs, and that its model answers.',
  },
  'vote-failed': {
    why: 'Three votes on it timed out or broke the judge.',
    change: 'Look into the log of the judge.',
  },
  corrected: { why: 'A later reaction made a new sample that replaces it.', change: KEEP_TALKING },
  stale: {
    why: 'Newer versions came while it waited, so it describes an old model.',
    change: 'Raise --collector-max-staleness, or train smaller batches more often.',
  },
  'off-lineage': {
    why: 'The version that answered was rolled back.',
    change: KEEP_TALKING,
  },
  'already-trained': {
    why: 'It was to train again, but the head learned from it meanwhile, or it was returned once more.',
    change: 'Nothing has to change.',
  },
  'set-aside': {
    why: 'Corrections of this kind had no effect, so the wish is set aside.',
    change: 'It is taken up again on new evidence: state it again later, or praise an answer that meets it.',
  },
  contradicted: { why: 'A later wish of the same person contradicts it.', change: KEEP_TALKING },
  'not-finite': {
    why: 'The step gave numbers that are not finite, and was thrown away.',
    change: 'Lower the learning rate.',
  },
  'nothing-learned': {
    why: 'The step changed nothing.',
    change: KEEP_TALKING,
  },
  'kl-to-parent': {
    why: 'The candidate moved too far from the version before it.',
    change: 'Lower the learning rate, or train larger batches.',
  },
  'kl-to-base': {
    why: 'The candidate moved too far from the base model.',
    change: 'Roll back to an earlier version, or state wishes less often.',
  },
  content: {
    why: 'The candidate gave answers off the subject to fixed requests.',
    change: 'Roll back to an earlier version if it happens again.',
  },
  collapse: {
    why: 'The candidate gave the same answer to many fixed requests.',
    change: 'Roll back to an earlier version.',
  },
  steerability: {
    why: 'The candidate no longer followed instructions of fixed requests.',
    change: 'Roll back to an earlier version.',
  },
  canary: {
    why: 'The verdicts of people who got the candidate on canary decided against it.',
    change: 'Nothing has to change: the numbers are in the record.',
  },
  strikes: {
    why: 'The step ended its process three times.',
    change: 'Look into the log of the trainer; the machine may lack memory.',
  },
  'parent-missing': {
    why: 'The checkpoint of the version before it is missing.',
    change: 'Restore the checkpoint, or roll back to a version that has one.',
  },
  'base-changed': {
    why: 'The base model has changed.',
    change: 'Give each model a data folder of its own.',
  },
  'training-changed': {
    why: 'The adapter was trained in another way than --training says.',
    change: 'Set --training back, or use a new adapter.',
  },
  'teacher-missing': { why: 'The teacher could not be loaded.', change: 'Look into the log of the trainer.' },
  'samples-missing': {
    why: 'Samples of the batch are no longer in the log.',
    change: 'On Kafka, check the retention of the topics.',
  },
  'parent-rolled-back': {
    why: 'Its batch trained, but the version before it was rolled back meanwhile.',
    change: KEEP_TALKING,
  },
};

const waiting: Readonly<Record<Exclude<TurnView['stage']['kind'], 'trained' | 'not-trained'>, Explanation>> =
  {
    'waiting-for-next-state': {
      why: 'Nobody has reacted to the answer yet.',
      change: 'Go on with the conversation, or give the answer a thumb.',
    },
    'waiting-for-end-of-session': {
      why: 'The session is settled by rewards, and is still open.',
      change: 'It counts when the program ends the session.',
    },
    'waiting-for-verdict': { why: 'The judge has not settled it yet.', change: 'Wait for the judge.' },
    'waiting-for-session': {
      why: 'It has a verdict and becomes a sample when its session allows it.',
      change: 'Go on with the conversation. A verdict of 0 trains only if the session has nothing better.',
    },
    'waiting-for-batch': {
      why: 'It is a sample, and waits until enough samples form a batch.',
      change: 'Go on talking, or press "Train now".',
    },
    'in-batch': { why: 'It is in the batch that trains now.', change: 'Wait for the step.' },
  };

/** Why the turn is where it is, and what would change that; undefined: it trained. */
export function explain({ stage }: TurnView): Explanation | undefined {
  if (stage.kind === 'trained') return undefined;
  if (stage.kind !== 'not-trained') return waiting[stage.kind];
  return (
    (explanations as Readonly<Record<string, Explanation>>)[stage.reason] ?? { why: stage.reason, change: '' }
  );
}
