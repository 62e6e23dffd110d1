import { messageTexts } from '../../shared/chat/message.ts';
import { normaliseMessage } from '../../shared/chat/normalise.ts';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import type { TurnSkipped } from '../../shared/events/turn-skipped.ts';
import { secretKindIn } from '../../shared/secrets/find-secrets.ts';
import type { TurnType } from './turn-type.ts';

export type SkipReason = TurnSkipped['data']['reason'];

export type AnswerView = {
  readonly data: InteractionCompleted['data'];
  readonly type: TurnType;
  readonly turnRule: string;
};

type Rule = {
  readonly reason: SkipReason;
  readonly about: string;
  /** The rule's name where it matches. */
  readonly matches: (view: AnswerView) => string | undefined;
};

const when = (holds: boolean, rule: string) => (holds ? rule : undefined);
const declared =
  (reason: SkipReason) =>
  ({ data }: AnswerView) =>
    when(data.untrainable === reason, reason);

/**
 * What is known to keep a turn from training as soon as it is answered. First match wins; the order is the
 * specification.
 */
export const skipRules: readonly Rule[] = [
  {
    reason: 'too-large',
    about: 'the exchange exceeds the largest record, so its text was not written',
    matches: ({ data }) => when(data.tooLarge === true || data.untrainable === 'too-large', 'too-large'),
  },
  {
    reason: 'side',
    about: 'not part of the conversation; the rule says why (see the table of turn rules)',
    matches: ({ type, turnRule }) => when(type === 'side', turnRule),
  },
  {
    reason: 'secret',
    about:
      'the answer or its tool calls hold an API key, a password, a private key or a card number; the rule names the kind',
    matches: ({ data }) => secretKindIn(messageTexts(data.answer)),
  },
  {
    reason: 'aborted',
    about: 'the answer was cut off: by the client, a filter or an error',
    matches: ({ data }) =>
      when(data.disconnected, 'disconnected') ??
      when(['aborted', 'error', 'content_filter'].includes(data.finishReason), data.finishReason),
  },
  {
    reason: 'truncated',
    about: 'the answer ended at its token limit',
    matches: ({ data }) => when(data.finishReason === 'length', 'length'),
  },
  {
    reason: 'unknown-finish-reason',
    about: 'the engine has a word of its own for how the answer ended; the rule is that word',
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
    about: 'penalties or logit_bias changed the distribution that it was sampled from',
    matches: declared('penalties'),
  },
  {
    reason: 'constrained',
    about:
      'a forced tool call, or a format that was asked for, kept out tokens that the policy would have taken',
    matches: declared('constrained'),
  },
  {
    reason: 'mixed-versions',
    about: 'an upstream engine answered with more than one policy version',
    matches: declared('mixed-versions'),
  },
  {
    reason: 'logprob-temperature',
    about: 'the engine gives no log-probs at the temperature of sampling',
    matches: declared('logprob-temperature'),
  },
  {
    reason: 'no-token-ids',
    about:
      'the engine gave no token ids, not one log-prob for each, or some that cannot be believed; the rule says which',
    matches: ({ data: { untrainable, tokens } }) =>
      untrainable ??
      when(tokens === null || tokens.responseIds.length === 0, 'no-token-ids') ??
      when(tokens?.responseIds.length !== tokens?.logProbs.length, 'log-probs-missing'),
  },
];

/** What is decided later, by what comes next or never comes. */
export const laterReasons: Readonly<Partial<Record<SkipReason, string>>> = {
  superseded: 'another answer to the same request was kept',
  'no-next-state': 'the session ended, and nothing was said after it',
  'no-reward': 'the session ended, and no reward came',
  discarded: 'the session ended, and its client took it back: an attempt that failed, say',
  deleted: 'its client deleted it, as a response of its own',
  withdrawn: 'an operator took it back (`clawloop turns withdraw`)',
  'record-gone':
    "the record of the answer, or of what came next, is no longer in the log, cannot be read, or another record stands in its place; the rule is the record's position",
  'too-late': 'its record came a day behind its lane or after the lane was forgotten: it may be a copy',
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
