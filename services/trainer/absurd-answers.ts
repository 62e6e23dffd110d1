import { mean } from '../../shared/lang/numbers.ts';
import type { TrainedWeights } from '../../shared/policy/checkpoints/full-weights.ts';
import { ABSURD, scoreAnswers } from './answer-figures.ts';
import type { LearningEngine, Voice } from './learning-engine.ts';
import { requestPrompt } from './own-requests.ts';

/**
 * Tokens of an answer. Nine in ten absurd answers of claw-nano are so from their first token. Later tokens may be a
 * taste of the person, such as kind words at the end, that the base alone would not add.
 */
const TOKENS = 4;

const ofBase = new WeakMap<LearningEngine, number>();

/**
 * Share of the answers to the wide requests with a token that is absurd to the base. That of the base itself is computed
 * once per engine.
 *
 * @param adapter undefined: the base
 */
export function absurdAnswers(
  engine: LearningEngine,
  voice: Voice,
  adapter: TrainedWeights | undefined,
): number {
  const known = adapter === undefined ? ofBase.get(engine) : undefined;
  if (known !== undefined) return known;
  const prompts = voice.wideRequests.map((content) => requestPrompt(engine, [{ role: 'user', content }]));
  const answers = voice.sample(adapter, { prompts, seed: 'wide', tokens: TOKENS });
  const byBase = scoreAnswers(engine, undefined, prompts, answers);
  const share = mean(byBase.map((logProbs) => Number(logProbs.some((logProb) => logProb < ABSURD))));
  if (adapter === undefined) ofBase.set(engine, share);
  return share;
}
