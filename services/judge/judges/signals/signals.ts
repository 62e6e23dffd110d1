import { type ChatMessage, isHuman } from '../../../../shared/chat/message.ts';
import { ownWordsOf, readOwnWords } from '../../own-words/own-words.ts';
import type { Judge } from '../judge.ts';
import { boundTurn, type Turn } from './bound-turn.ts';
import { correctiveHint } from './corrective-hint.ts';
import { type Evidence, lexicalEvidence, weigh } from './evidence.ts';
import { isRepeatedRequest } from './repeated-request.ts';
import { toolOutcome } from './tool-result.ts';

export type Signals = { readonly vote: -1 | 0 | 1; readonly text: string; readonly hint?: string };

/**
 * Judges a turn by rules: the person's next words, a repeated request, a failed tool call. The person's words outrank
 * tool results; a successful call or a new subject is no evidence. Time is linear in a bounded part of the turn.
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

const nobodysWords = { sentence: '', contrast: false };

/** Compares only messages without passed-on text: two requests about two texts may have the same words. */
function repeatEvidence({ messages, next }: Turn): readonly Evidence[] {
  const request = wholeWords(messages.findLast(isHuman));
  if (request === undefined) return [];
  const repeated = next
    .map((message) => wholeWords(message, messages))
    .find((words) => words !== undefined && isRepeatedRequest(request, words));
  return repeated === undefined
    ? []
    : [{ rule: 'repeated-request', weight: -2, on: repeated.slice(0, 200), ...nobodysWords }];
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
    .map(({ line }) => ({ rule: 'tool-error', weight: -2, on: line.slice(0, 200), ...nobodysWords }));
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
