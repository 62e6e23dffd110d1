import { formatTable } from '../../../shared/runtime/table.ts';
import { visibleLine } from '../../../shared/runtime/terminal.ts';
import type { FoundFiles } from './files.ts';
import type { Plan } from './plan.ts';
import type { Target } from './survey.ts';

export function nameOf({ scope, name, key }: Target): string {
  switch (scope) {
    case 'key':
      return `everything of the access key ${visibleLine(name)}`;
    case 'session':
      return `session ${visibleLine(name)} of the access key ${visibleLine(key)}`;
    case 'answer':
      return `answer ${visibleLine(name)}, which belongs to no session`;
  }
}

/** What an erasure changes. */
export function planLines(plan: Plan, { removed, waiting, snapshots, logs }: FoundFiles): readonly string[] {
  const { target, selection, records, rows } = plan;
  const lines = logs.reduce((sum, log) => sum + log.lines, 0);
  const counts = [
    ...Object.entries(records).map(([type, count]) => [count, `records ${type}`] as const),
    [rows, 'rows of folds'] as const,
    [removed.length, 'stored answers and events that were set aside'] as const,
    [snapshots.length, 'stored states of views, which are written anew, and leftovers of backups'] as const,
    [lines, 'lines in logs of services'] as const,
    [waiting.length, 'events in the outbox'] as const,
  ].filter(([count]) => count > 0);
  return [
    `${nameOf(target)}: ${selection.turns.size} answers`,
    ...(counts.length === 0 ? ['no words are left'] : [formatTable(['count', 'what'], counts)]),
  ];
}

/** What an erasure cannot change. */
export function limitLines({ versions, survey, repeated }: Plan, now: string): readonly string[] {
  return [
    ...learnedLines(versions.filter(survey.isOnLine)),
    ...[...repeated].map(
      ([session, count]) =>
        `SAME WORDS  ${count} requests of session ${visibleLine(session)} repeat them: if it is the same person's, forget it too`,
    ),
    `BACKUPS  points from before ${now} still hold the words: remove them (clawloop backup FOLDER --keep-points N)`,
    'ELSEWHERE  exports, logs of containers, and engines or judges on other servers may hold copies: see docs/operate/erasure.md',
  ];
}

function learnedLines(versions: Plan['versions']): readonly string[] {
  return [...Map.groupBy(versions, ({ adapter }) => adapter)].map(([adapter, learned]) => {
    const names = learned.map(({ version }) => `v${version}`).join(', ');
    const first = Math.min(...learned.map(({ version }) => version));
    return (
      `LEARNED  ${adapter} learned from the words in ${names}; every version that follows descends from them. ` +
      `To train again from before v${first} without them: npx clawloop policy retrain --adapters ${adapter}`
    );
  });
}

/** What has to happen first. */
export function waitLines({ open, behind, survey }: Plan, { waiting }: FoundFiles): readonly string[] {
  const inBatch = open.filter((turn) => survey.stageOf(turn)?.kind === 'in-batch').length;
  const others = open.length - inBatch;
  return [
    ...(others > 0
      ? [`${others} answers are still open; they are withdrawn, so that they do not train`]
      : []),
    ...(inBatch > 0 ? [`${inBatch} answers are in a batch that is being trained`] : []),
    ...(behind.length > 0 ? [`not everything is read yet by ${behind.join(', ')}`] : []),
    ...(waiting.length > 0 ? [`${waiting.length} events wait in the outbox`] : []),
  ];
}
