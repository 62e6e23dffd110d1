import type { TurnCompleted } from '../../../../shared/events/turn-completed.ts';
import { lastRequest, personsWords, toolOutputs } from '../../message-text.ts';
import { SHORT_HINT } from '../../tally.ts';
import type { Judge } from '../judge.ts';
import { type Evidence, lexicalEvidence, weigh } from './evidence.ts';
import { isRepeatedRequest } from './repeated-request.ts';
import { toolOutcome } from './tool-result.ts';

type Turn = Pick<TurnCompleted['data'], 'messages' | 'next'>;
export type Signals = { readonly vote: -1 | 0 | 1; readonly text: string; readonly hint?: string };

/** Longest hint. Characters. */
const HINT_LIMIT = 1000;

/**
 * Transparent evidence, no model: what the person says next, the same request again, an error of a tool. A
 * person's words
 * outrank a tool's output; a tool call that merely worked and a new subject say nothing.
 */
export function readSignals(turn: Turn): Signals {
  const words = personsWords(turn.next).flatMap(lexicalEvidence);
  const evidence = words.length > 0 ? words : [...repeatEvidence(turn), ...toolEvidence(turn)].slice(0, 1);
  const vote = weigh(evidence);
  const text = evidence.length === 0 ? 'no evidence' : evidence.map(describe).join('\n');
  const hint = vote === -1 ? correctiveWords(evidence) : undefined;
  return hint === undefined ? { vote, text } : { vote, text, hint };
}

const ofNobody = { sentence: '', contrast: false };

function repeatEvidence({ messages, next }: Turn): readonly Evidence[] {
  const again = personsWords(next).find((text) => isRepeatedRequest(lastRequest(messages), text));
  return again === undefined
    ? []
    : [{ rule: 'repeated-request', weight: -2, on: again.slice(0, 200), ...ofNobody }];
}

function toolEvidence({ next }: Turn): readonly Evidence[] {
  return toolOutputs(next)
    .filter((output) => toolOutcome(output) === 'error')
    .map((output) => ({ rule: 'tool-error', weight: -2, on: output.trim().slice(0, 200), ...ofNobody }));
}

const describe = ({ rule, weight, on }: Evidence): string =>
  `${weight > 0 ? '+' : ''}${weight} ${rule}: ${on.replace(/\s+/g, ' ')}`;

/** The sentences in which the person said what was wrong, each once. */
function correctiveWords(evidence: readonly Evidence[]): string | undefined {
  const sentences = evidence.filter(({ weight, sentence }) => weight < 0 && sentence !== '');
  const hint = [...new Set(sentences.map(({ sentence }) => sentence))].join(' ').slice(0, HINT_LIMIT);
  return hint.length > SHORT_HINT ? hint : undefined;
}

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
