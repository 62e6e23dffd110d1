import { readCard } from '../../ear/read-ear.ts';
import type { Judge } from '../judge.ts';
import { openSignalsThread } from '../signals/signals-thread.ts';
import { earJudge } from './ear.ts';

/** The ear on its own thread, with the same limits as the rules. */
export function openEarThread(module = new URL('./ear-worker.ts', import.meta.url)): Judge {
  const thread = openSignalsThread(module);
  const model = `ear@${readCard().digest.slice(0, 12)}`;
  return {
    ...thread,
    name: earJudge.name,
    vote: async (turn, index, signal) => ({ ...(await thread.vote(turn, index, signal)), model }),
  };
}
