import { wishesIn } from '../../shared/wishes/wishes.ts';
import type { NextMessage } from './next-messages.ts';

/** What a judge made of a message. */
export type Heard = { readonly vote: -1 | 0 | 1 | null; readonly hint?: string | undefined };
export type Scored = { readonly message: NextMessage; readonly heard: Heard };

/** Shares; null where there is nothing to share. */
export type Scores = {
  readonly precision: number | null;
  readonly recall: number | null;
  readonly heard: number;
  readonly of: number;
};

const votes = { bad: -1, good: 1 } as const;

export function scoresOf(label: 'good' | 'bad', scored: readonly Scored[]): Scores {
  const called = scored.filter(({ heard }) => heard.vote === votes[label]);
  const meant = scored.filter(({ message }) => message.label === label);
  const right = called.filter(({ message }) => message.label === label).length;
  return {
    precision: part(right, called.length),
    recall: part(right, meant.length),
    heard: right,
    of: meant.length,
  };
}

/** Whether the hint says what the person asked for. A wish outside the table is met by any hint. */
export function hasHint({ message, heard }: Scored): boolean {
  if (heard.vote !== -1 || heard.hint === undefined) return false;
  if (message.wish.includes('other')) return true;
  const kinds = wishesIn(heard.hint);
  return kinds.length === 0 || kinds.some((kind) => message.wish.includes(kind));
}

export const statesWish = ({ message }: Scored): boolean =>
  message.label === 'bad' && message.wish.length > 0;

/** Share of the messages with a wish whose hint says it. */
export function hintRate(scored: readonly Scored[]): number | null {
  const wishing = scored.filter(statesWish);
  return part(wishing.filter(hasHint).length, wishing.length);
}

export const part = (count: number, of: number): number | null => (of === 0 ? null : count / of);

/** One line per group: how many, then precision and recall of both classes, and the share of hints. */
export function scoreTable(scored: readonly Scored[]): string {
  const groups = new Map<string, Scored[]>([['all', [...scored]]]);
  for (const by of ['lang', 'style'] as const)
    for (const one of scored) {
      const name = one.message[by];
      groups.set(name, [...(groups.get(name) ?? []), one]);
    }
  const rows = [...groups].map(([name, group]) => {
    const [bad, good] = [scoresOf('bad', group), scoresOf('good', group)];
    const shares = [bad.precision, bad.recall, good.precision, good.recall, hintRate(group)];
    return [name, String(group.length), ...shares.map(percent)];
  });
  const head = ['group', 'messages', 'bad: precision', 'recall', 'good: precision', 'recall', 'hints'];
  return [head, ...rows].map((cells) => cells.map((cell, at) => pad(cell, at)).join('')).join('\n');
}

const pad = (cell: string, at: number) => (at === 0 ? cell.padEnd(14) : cell.padStart(16));
const percent = (share: number | null) => (share === null ? '-' : `${Math.round(100 * share)} %`);
