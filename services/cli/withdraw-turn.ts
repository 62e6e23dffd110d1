import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import { withdrawalFact } from '../../shared/lineage/operator-facts.ts';
import type { EventLog, Recorded } from '../../shared/log/event-log.ts';
import { readAll } from '../../shared/log/read-topic.ts';
import { UsageError } from '../../shared/runtime/command-errors.ts';
import { describeStage } from '../../shared/views/describe-turn.ts';
import { type TurnStage, TurnViews, turnTypes } from '../../shared/views/turn-view.ts';

/**
 * Withdraws a turn in any state and prints the effect. Resolves to the exit code: 1 when the turn has trained
 * or is in a batch.
 * @throws UsageError when the log has no such turn
 */
export async function withdrawTurn(
  log: EventLog,
  turnId: string,
  reason: string | undefined,
): Promise<number> {
  const views = new TurnViews();
  let interaction: InteractionCompleted['data'] | undefined;
  let isWithdrawn = false;
  const onRecord = ({ event }: Recorded): void => {
    views.on(event);
    if (event.type === 'interaction.completed' && event.data.interactionId === turnId)
      interaction ??= event.data;
    if (event.type === 'interaction.withdrawn' && event.data.interactionId === turnId) isWithdrawn = true;
  };
  await readAll(log, onRecord, new Set([...turnTypes, 'interaction.withdrawn']));
  const stage = views.turns.get(turnId)?.stage;
  if (interaction === undefined || stage === undefined)
    throw new UsageError(`no turn ${turnId} in the log; see clawloop turns list`);
  const tooLate = whyTooLate(stage);
  if (tooLate !== undefined) {
    console.log(`${turnId} ${tooLate}`);
    return 1;
  }
  if (stage.kind === 'not-trained') {
    console.log(`${turnId} does not train in any case: ${stage.reason}`);
    return 0;
  }
  if (isWithdrawn) {
    console.log(`${turnId} is already withdrawn; the collector has not read that yet`);
    return 0;
  }
  await log.append([withdrawalFact(interaction, reason, 'clawloop/cli')]);
  console.log(`${turnId} is withdrawn and will not train; its state was: ${describeStage(stage)}`);
  return 0;
}

function whyTooLate(stage: TurnStage): string | undefined {
  switch (stage.kind) {
    case 'trained':
      return `trained in v${stage.version}; to undo it, roll back to an earlier version with clawloop policy rollback`;
    case 'in-batch':
      return `is in ${stage.batchId}, which is being trained; once that is promoted, undo it with clawloop policy rollback`;
    default:
      return undefined;
  }
}
