import type { Stage } from './stages.ts';

/** Each stage follows from the one before it. */
const order: readonly string[] = [
  ...['answer', 'turn', 'vote', 'judgment', 'sample', 'batch', 'step', 'gate', 'loaded'],
];

/**
 * Prints stages in the order of the loop. Topics are followed side by side, so a later stage may be read first: it
 * waits until the stage before it is printed. `rest` prints what still waits.
 */
export function inOrder(print: (stage: Stage) => void) {
  const printed = new Set<string>();
  let waiting: readonly Stage[] = [];
  const isDue = ({ name }: Stage): boolean => {
    const before = order[order.indexOf(name) - 1];
    return before === undefined || printed.has(before);
  };
  const take = (stage: Stage): void => {
    waiting = waiting.filter((other) => other !== stage);
    printed.add(stage.name);
    print(stage);
  };
  return {
    print: (stage: Stage): void => {
      waiting = [...waiting, stage];
      for (let due = waiting.find(isDue); due !== undefined; due = waiting.find(isDue)) take(due);
    },
    rest: (): void => waiting.forEach(take),
  };
}
