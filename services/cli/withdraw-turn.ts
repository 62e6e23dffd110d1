import { withdrawalFact } from '../../shared/lineage/operator-facts.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import { UsageError } from '../../shared/runtime/command-errors.ts';
import { describeStage } from '../../shared/views/describe-turn.ts';
import { readPlaces } from '../../shared/views/read-texts.ts';
import { withTurnIndex } from '../../shared/views/turn-index/turn-index.ts';
import type { TurnStage } from '../../shared/views/turn-view.ts';

/**
 * Withdraws a turn in any state and prints the effect. Resolves to the exit code: 1 when the turn has trained
 * or is in a batch, so that only training again without it takes it back.
 * @param log with the folder of its index
 * @throws UsageError when the log has no such turn
 */
export async function withdrawTurn(
  { log, folder }: { readonly log: EventLog; readonly folder: string },
  turnId: string,
  reason: string | undefined,
): Promise<number> {
  const turn = await withTurnIndex({ log, folder }, (index) => index.turn(turnId));
  const records = turn === undefined ? [] : await readPlaces(log, [turn.row.at, ...turn.row.places]);
  const interaction = records.find((event) => event.type === 'interaction.completed')?.data;
  if (interaction === undefined || turn === undefined)
    throw new UsageError(`no turn ${turnId} in the log; see clawloop turns list`);
  const { stage } = turn.view;
  const isWithdrawn = records.some(({ type }) => type === 'interaction.withdrawn');
  if (stage.kind === 'not-trained') {
    console.log(`${turnId} does not train in any case: ${stage.reason}`);
    return 0;
  }
  const learned = whereLearned(stage);
  if (isWithdrawn && learned === undefined) {
    console.log(`${turnId} is already withdrawn; the collector has not read that yet`);
    return 0;
  }
  if (!isWithdrawn) await log.append([withdrawalFact(interaction, reason, 'clawloop/cli')]);
  if (learned !== undefined) {
    console.log(`${turnId} is withdrawn, but ${learned}, use clawloop policy retrain`);
    return 1;
  }
  console.log(`${turnId} is withdrawn and will not train; its state was: ${describeStage(stage)}`);
  return 0;
}

function whereLearned(stage: TurnStage): string | undefined {
  switch (stage.kind) {
    case 'trained':
      return `v${stage.version} learned from it; to train again without it`;
    case 'in-batch':
      return `${stage.batchId}, which is being trained, has it; to train again without it once that has ended`;
    default:
      return undefined;
  }
}
