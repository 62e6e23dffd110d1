import { type ChatMessage, isHuman } from '../../../../shared/chat/message.ts';
import { ownWordsOf } from '../../message-text.ts';
import { readOwnWords } from '../../own-words/own-words.ts';
import type { Judge } from '../judge.ts';
import { boundTurn, type Turn } from './bound-turn.ts';
import { correctiveHint } from './corrective-hint.ts';
import { type Evidence, lexicalEvidence, weigh } from './evidence.ts';
import { isRepeatedRequest } from './repeated-request.ts';
import { toolOutcome } from './tool-result.ts';

export type Signals = { readonly vote: -1 | 0 | 1; readonly text: string; readonly hint?: string };

/**
 * Transparent evidence, no model: what the person says next, the same request again, a failed call of a tool.
 * A person's words outrank a tool's output; a tool call that merely worked and a new subject say nothing.
 * Takes time in proportion to a bounded part of the turn.
 */
export function readSignals(turn: Turn): Signals {
  const bounded = boundTurn(turn);
  const words = ownWordsOf(bounded.next, bounded.messages).flatMap((own) => lexicalEvidence(own.words));
  const evidence =
    words.length > 0 ? words : [...repeatEvidence(bounded), ...toolEvidence(bounded)].slice(0, 1);
  const vote = weigh(evidence);
  const text = evidence.length === 0 ? 'no evidence' : evidence.map(describe).join('\n');
  const hint = vote === -1 ? correctiveHint(evidence) : undefined;
  return hint === undefined ? { vote, text } : { vote, text, hint };
}

const ofNobody = { sentence: '', contrast: false };

/** Two requests about two texts may be in the same words: only what holds no other text is compared. */
function repeatEvidence({ messages, next }: Turn): readonly Evidence[] {
  const asked = wholeWords(messages.findLast(isHuman));
  if (asked === undefined) return [];
  const again = next
    .map((message) => wholeWords(message, messages))
    .find((words) => words !== undefined && isRepeatedRequest(asked, words));
  return again === undefined
    ? []
    : [{ rule: 'repeated-request', weight: -2, on: again.slice(0, 200), ...ofNobody }];
}

function wholeWords(
  message: ChatMessage | undefined,
  earlier: readonly ChatMessage[] = [],
): string | undefined {
  if (message?.role !== 'user') return undefined;
  const { words, holdsOthers } = readOwnWords(message, earlier);
  return holdsOthers ? undefined : words;
}

function toolEvidence({ next }: Turn): readonly Evidence[] {
  return next
    .filter(({ role }) => role === 'tool')
    .map(toolOutcome)
    .filter(({ outcome }) => outcome === 'error')
    .map(({ line }) => ({ rule: 'tool-error', weight: -2, on: line.slice(0, 200), ...ofNobody }));
}

const describe = ({ rule, weight, on }: Evidence): string =>
  `${weight > 0 ? '+' : ''}${weight} ${rule}: ${on.replace(/\s+/g, ' ')}`;

export const signalsJudge: Judge = {
  name: 'signals',
  defaultVotes: 1,
  defaultHintVotes: 0,
  vote: async (turn) => {
    const start = performance.now();
    const signals = readSignals(turn);
    return {
      ...signals,
      cost: { promptTokens: 0, completionTokens: 0, milliseconds: performance.now() - start },
    };
  },
};
