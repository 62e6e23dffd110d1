import { messageTexts } from '../../shared/chat/message.ts';
import { normaliseMessage } from '../../shared/chat/normalise.ts';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import type { TurnSkipped } from '../../shared/events/turn-skipped.ts';
import { secretKindIn } from '../../shared/secrets/find-secrets.ts';
import type { TurnType } from './turn-type.ts';

export type SkipReason = TurnSkipped['data']['reason'];

type AnswerView = {
  readonly data: InteractionCompleted['data'];
  readonly type: TurnType;
  readonly turnRule: string;
};

type Rule = {
  readonly reason: SkipReason;
  readonly about: string;
  /** The name of the matching rule; undefined: no match. */
  readonly matches: (view: AnswerView) => string | undefined;
};

const when = (holds: boolean, rule: string) => (holds ? rule : undefined);
const declared =
  (reason: SkipReason) =>
  ({ data }: AnswerView) =>
    when(data.untrainable === reason, reason);

/**
 * Reasons to skip a turn that are known as soon as it is answered. First match wins; the order is the
 * specification.
 */
export const skipRules: readonly Rule[] = [
  {
    reason: 'too-large',
    about: 'the exchange is larger than the largest record, so its text was not recorded',
    matches: ({ data }) => when(data.tooLarge === true || data.untrainable === 'too-large', 'too-large'),
  },
  {
    reason: 'side',
    about: 'not part of the conversation; `rule` names the turn rule',
    matches: ({ type, turnRule }) => when(type === 'side', turnRule),
  },
  {
    reason: 'secret',
    about:
      'the answer or its tool calls contain an API key, password, private key or card number; `rule` names the kind',
    matches: ({ data }) => secretKindIn(messageTexts(data.answer)),
  },
  {
    reason: 'aborted',
    about: 'the answer was cut off by the client, a filter or an error',
    matches: ({ data }) =>
      when(data.disconnected, 'disconnected') ??
      when(['aborted', 'error', 'content_filter'].includes(data.finishReason), data.finishReason),
  },
  {
    reason: 'truncated',
    about: 'the answer reached its token limit',
    matches: ({ data }) => when(data.finishReason === 'length', 'length'),
  },
  {
    reason: 'unknown-finish-reason',
    about: 'the engine reported an unknown finish reason; `rule` is that reason',
    matches: ({ data }) => data.engineFinishReason,
  },
  {
    reason: 'empty',
    about: 'the answer has neither visible text nor a tool call',
    matches: ({ data }) => {
      const answer = normaliseMessage(data.answer);
      return when(answer === undefined || (answer.text === '' && answer.calls.length === 0), 'empty');
    },
  },
  {
    reason: 'penalties',
    about: 'penalties or `logit_bias` changed the sampling distribution',
    matches: declared('penalties'),
  },
  {
    reason: 'constrained',
    about:
      'a forced tool call or a requested format excluded tokens, and more others were allowed than a record holds',
    matches: declared('constrained'),
  },
  {
    reason: 'mixed-versions',
    about: 'an upstream engine used more than one policy version for the answer',
    matches: declared('mixed-versions'),
  },
  {
    reason: 'logprob-temperature',
    about: 'the engine gives no logprobs at the sampling temperature',
    matches: declared('logprob-temperature'),
  },
  {
    reason: 'no-token-ids',
    about: 'the engine gave no token ids, too few logprobs, or implausible logprobs; `rule` says which',
    matches: ({ data: { untrainable, tokens } }) =>
      untrainable ??
      when(tokens === null || tokens.responseIds.length === 0, 'no-token-ids') ??
      when(tokens?.responseIds.length !== tokens?.logProbs.length, 'log-probs-missing'),
  },
];

/** Reasons that are decided later. */
export const laterReasons: Readonly<Partial<Record<SkipReason, string>>> = {
  superseded: 'another answer to the same request was kept',
  'no-next-state': 'the session ended without a next message or tool result',
  'no-reward': 'the session ended without a reward',
  discarded: 'the client discarded its session, for example a failed attempt',
  deleted: 'the client deleted the response',
  withdrawn: 'an operator withdrew it (`clawloop turns withdraw`)',
  'record-gone':
    'the record of the answer or of its next state is missing, unreadable, or replaced by another; `rule` is its position',
  'too-late': 'the record arrived a day late or after its lane was forgotten, so it may be a copy',
};

export function skipReason(
  view: AnswerView,
): { readonly reason: SkipReason; readonly rule: string } | undefined {
  for (const { reason, matches } of skipRules) {
    const rule = matches(view);
    if (rule !== undefined) return { reason, rule };
  }
  return undefined;
}
