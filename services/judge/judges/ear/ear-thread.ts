import { earDigest } from '../../ear/open-ear.ts';
import type { Judge } from '../judge.ts';
import { openSignalsThread } from '../signals/signals-thread.ts';

/** The ear on its own thread, with the same limits as the rules. */
export function openEarThread(module = new URL('./ear-worker.ts', import.meta.url)): Judge {
  const thread = openSignalsThread(module);
  const model = `ear@${earDigest().slice(0, 12)}`;
  return {
    ...thread,
    name: 'ear',
    vote: async (turn, index, signal) => ({ ...(await thread.vote(turn, index, signal)), model }),
  };
}
