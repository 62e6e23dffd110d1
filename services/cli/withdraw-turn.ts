import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import { InteractionWithdrawn } from '../../shared/events/interaction-withdrawn.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { utcNow } from '../../shared/service/clock.ts';
import { UsageError } from './command.ts';
import { readAll } from './read-topic.ts';
import { createTurnViews, describeStage, type TurnStage } from './views/turn-view.ts';

/**
 * Takes a turn back, whatever its state, and says what that did. Resolves to the exit code: 1 where the turn
 * has trained or is about to.
 * @throws UsageError where the log holds no such turn
 */
export async function withdrawTurn(
  log: EventLog,
  turnId: string,
  reason: string | undefined,
): Promise<number> {
  const views = createTurnViews();
  let found: InteractionCompleted['data'] | undefined;
  let isWithdrawn = false;
  await readAll(log, ({ event }) => {
    views.on(event);
    if (event.type === 'interaction.completed' && event.data.interactionId === turnId) found ??= event.data;
    if (event.type === 'interaction.withdrawn' && event.data.interactionId === turnId) isWithdrawn = true;
  });
  const stage = views.turns.get(turnId)?.stage;
  if (found === undefined || stage === undefined)
    throw new UsageError(`no turn ${turnId} in the log; clawloop turns list shows them all`);
  const tooLate = whyTooLate(stage);
  if (tooLate !== undefined) {
    console.log(`${turnId} ${tooLate}`);
    return 1;
  }
  if (stage.kind === 'not-trained') {
    console.log(`${turnId} does not train anyway: ${stage.reason}`);
    return 0;
  }
  if (isWithdrawn) {
    console.log(`${turnId} was withdrawn before; the collector has not read that yet`);
    return 0;
  }
  const { lane, key, adapter } = found;
  const data = { interactionId: turnId, lane, key, adapter, ...(reason === undefined ? {} : { reason }) };
  const id = `${turnId}/taken-back`;
  await log.append([InteractionWithdrawn.create({ id, source: 'clawloop/cli', time: utcNow(), data })]);
  console.log(`${turnId} is withdrawn and does not train; it was ${describeStage(stage)}`);
  return 0;
}

function whyTooLate(stage: TurnStage): string | undefined {
  switch (stage.kind) {
    case 'trained':
      return `trained in v${stage.version}; clawloop policy rollback to an earlier version undoes that`;
    case 'in-batch':
      return `is in ${stage.batchId}, which is being trained; clawloop policy rollback undoes it once it is promoted`;
    default:
      return undefined;
  }
}
