import { stableJson } from '../../../../shared/log/stable-json.ts';
import type { FoldName } from '../folds.ts';
import { rebuild, type States } from '../history-log.ts';
import { isCanaryDecision } from './canary.ts';
import type { Law } from './history.ts';

const emittedBy: Readonly<Record<FoldName, readonly string[]>> = {
  attribute: [
    'turn.completed',
    'turn.continued',
    'turn.skipped',
    'turn.feedback',
    'session.opened',
    'session.closed',
  ],
  judge: ['judgment.reached', 'judgment.revised'],
  assemble: ['sample.ready'],
  submit: ['batch.submitted'],
};

/** Refolding the whole input gives the same rows and the same facts, and nothing new. */
export const rebuildIsTheSame: Law = ({ world, all }) =>
  [...Map.groupBy(world.groups, ({ fold }) => fold.name)].flatMap(([name, groups]) => {
    const wrong: string[] = [];
    const rebuilt = groups.flatMap((group) => {
      const { states, facts } = rebuild(group, world.records);
      if (readable(states) !== readable(group.states)) wrong.push(`other rows: ${name} ${group.partition}`);
      return facts;
    });
    const list = (events: typeof all) =>
      events
        .filter(
          (event) => emittedBy[name].includes(event.type) || (name === 'submit' && isCanaryDecision(event)),
        )
        .map(({ type, subject, id, data }) => stableJson([type, subject, id, data]))
        .sort()
        .join('\n');
    if (list(rebuilt) !== list(all)) wrong.push(`a rebuild emits other facts: ${name}`);
    return wrong;
  });

const readable = (states: States) =>
  stableJson(
    [...states].map(([subject, map]) => [subject, [...map].sort(([a], [b]) => (a < b ? -1 : 1))]).sort(),
  );
