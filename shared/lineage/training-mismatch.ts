import type { TrainingKind } from '../events/training-settings.ts';
import type { EventLog } from '../log/event-log.ts';
import { listCheckpoints } from '../policy/checkpoint-store.ts';
import { applyHead, type HeadState, initialHead } from './head.ts';

/**
 * Why an adapter cannot be trained as the settings say: its head was trained otherwise. Undefined where it
 * can; the base can be trained either way.
 *
 * @param store folder of its checkpoints; the log is read only when it holds some of the other kind
 */
export async function trainingMismatch(
  log: Pick<EventLog, 'follow'>,
  store: string,
  { adapter, training }: { readonly adapter: string; readonly training: TrainingKind },
): Promise<string | undefined> {
  const others = (await listCheckpoints(store)).filter(({ state }) => state.settings.training !== training);
  if (others.length === 0) return undefined;
  const { head, versions } = await readHead(log, adapter);
  const served = others.find(({ name }) => name === versions[head]?.checkpoint)?.state.settings.training;
  return (
    served &&
    `version ${head} of the adapter "${adapter}" was trained as ${served}, the settings say ${training}: ` +
      `start with --training ${served}, take another name in --adapters, or leave what was learned with ` +
      '`clawloop policy rollback 0`'
  );
}

/** The head as the log tells it now. */
async function readHead(log: Pick<EventLog, 'follow'>, adapter: string): Promise<HeadState> {
  let state = initialHead;
  const stop = new AbortController();
  const following = log.follow(
    'training',
    {},
    ({ event }) => {
      if (event.subject === adapter) state = applyHead(state, event);
    },
    stop.signal,
  );
  await Promise.race([following.caughtUp, following.done]);
  stop.abort();
  await following.done;
  return state;
}
