import { setTimeout as delay } from 'node:timers/promises';
import { type Answer, answersStatus, says, startJudgeServer } from '../../e2e/judge-server.ts';
import { createRandom } from '../histories/random.ts';

const SLOWEST_MS = 900;

/** A model for judges: as slow as a real one, with mixed votes, and sometimes unavailable. */
export function startJudgeModel(seed: number, slowestMs = SLOWEST_MS) {
  const random = createRandom(seed);
  const answer: Answer = async (response, asked) => {
    await delay(random.int(slowestMs));
    const verdict = random.of([1, 1, -1, -1, 0]);
    const answers = random.chance(0.05)
      ? answersStatus(500)
      : says(`So it seems to me.\n\\boxed{${verdict}}`);
    await answers(response, asked);
  };
  return startJudgeServer(answer);
}
