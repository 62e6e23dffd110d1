import type { TurnStage, TurnView } from './turn-view.ts';

/** The stage of a turn, or why it does not train, in a few words. */
export function describeStage(stage: TurnStage): string {
  switch (stage.kind) {
    case 'trained':
      return `trained in v${stage.version}`;
    case 'not-trained':
      return `not trained: ${stage.reason}`;
    case 'in-batch':
      return `in ${stage.batchId}`;
    default:
      return stage.kind.replaceAll('-', ' ');
  }
}

/** How the content of a request contradicts what its client sent about it; '' if it does not. */
export function describeDisagreement({ disagreement: { session, turn } = {} }: TurnView): string {
  const parts = [turn?.rule, session === undefined ? undefined : `session ${session}`];
  const claims = parts.filter((part) => part !== undefined).join(', ');
  return claims === '' ? '' : `not ${claims}`;
}

/** Score and source of a verdict; for a return, also the reward of the turn itself. */
export function describeVerdict(turn: TurnView): string {
  const { score, source, votes, own, advantage, implied, inferred, standing, process } = turn;
  const returned =
    own === undefined
      ? undefined
      : `return, ${own === null ? 'no own reward' : `own reward ${rounded(own)}`}`;
  const compared = advantage === undefined ? '' : `, advantage ${rounded(advantage)}`;
  const steps =
    process === undefined
      ? ''
      : process.mean === null
        ? ', votes on the step missing'
        : `, ${rounded(process.part)} of it for the step`;
  const cast = votes.length === 0 ? '' : `, votes ${votes.join(' ')}`;
  if (score === undefined) return `none yet${cast}`;
  if (score === null) return `unavailable by ${source}${cast}`;
  const action = implied === undefined || source !== 'implicit' ? '' : ` (${implied})`;
  const inferredHint = inferred === undefined ? '' : `, hint inferred from other complaints: ${inferred}`;
  const standingWishes = standing === undefined ? '' : `, with standing wishes: ${standing.join(', ')}`;
  return `${rounded(score)} by ${source}${action}${returned === undefined ? '' : ` (${returned})`}${compared}${steps}${cast}${inferredHint}${standingWishes}`;
}

/** Returns have many digits. */
export const rounded = (value: number): number => Number(value.toFixed(4));
