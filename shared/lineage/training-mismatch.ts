import type { TrainingKind } from '../events/training-settings.ts';
import type { EventLog, Heading } from '../log/event-log.ts';
import { readToEnd } from '../log/read-topic.ts';
import type { CheckpointStore } from '../policy/checkpoints/checkpoint-store.ts';
import { type HeadState, headTypes, openHead } from './head.ts';

/**
 * Why an adapter cannot be trained with these settings: its head was trained as the other kind. Undefined: it
 * can be; the base can be trained as either kind.
 *
 * @param store its checkpoints; the log is read only if it contains some of the other kind
 */
export async function trainingMismatch(
  log: Pick<EventLog, 'follow'>,
  store: Pick<CheckpointStore, 'list'>,
  { adapter, training }: { readonly adapter: string; readonly training: TrainingKind },
): Promise<string | undefined> {
  const others = (await store.list()).filter(({ state }) => state.settings.training !== training);
  if (others.length === 0) return undefined;
  const { head, versions } = await readHead(log, adapter);
  const served = others.find(({ name }) => name === versions[head]?.checkpoint)?.state.settings.training;
  return (
    served &&
    `version ${head} of the adapter "${adapter}" was trained as ${served}, but the settings ask for ${training}: ` +
      `start with --training ${served}, use another name in --adapters, or discard the training with ` +
      '`clawloop policy rollback 0`'
  );
}

/**
 * Why a training server cannot continue an adapter: its head was trained on this machine, and no server takes an
 * adapter from elsewhere. Undefined: it can.
 *
 * @param store its checkpoints; the log is read only if some of them have no state on a server
 */
export async function serverMismatch(
  log: Pick<EventLog, 'follow'>,
  store: Pick<CheckpointStore, 'list'>,
  adapter: string,
): Promise<string | undefined> {
  const local = (await store.list()).filter(({ state }) => state.optimizer === undefined);
  if (local.length === 0) return undefined;
  const { head, versions } = await readHead(log, adapter);
  if (!local.some(({ name }) => name === versions[head]?.checkpoint)) return undefined;
  return (
    `version ${head} of the adapter "${adapter}" was trained on this machine, and a training server takes no adapter ` +
    'from elsewhere: start with --training-engine local, use another name in --adapters, or discard the training with ' +
    '`clawloop policy rollback 0`'
  );
}

/** The current head according to the log. */
async function readHead(log: Pick<EventLog, 'follow'>, adapter: string): Promise<HeadState> {
  const head = openHead();
  const wants = ({ type, subject }: Heading) => subject === adapter && headTypes.has(type);
  await readToEnd(log, 'training', ({ event }) => void head.on(event), { wants });
  return head.state();
}
