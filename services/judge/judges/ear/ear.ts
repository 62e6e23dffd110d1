import { contentText } from '../../../../shared/chat/message.ts';
import { wishesIn } from '../../../../shared/wishes/wishes.ts';
import { unitsOf } from '../../ear/features.ts';
import { holdsEditBlock, isOfMachine } from '../../ear/machine.ts';
import { type Heard, hear } from '../../ear/model.ts';
import { type Ear, readEar } from '../../ear/read-ear.ts';
import { hintHeard, verdictOfEar, wishesHeard } from '../../ear/verdict.ts';
import { ownWordsOf } from '../../message-text.ts';
import type { Judge } from '../judge.ts';
import { boundTurn, type Turn } from '../signals/bound-turn.ts';
import { lexicalEvidence, weigh } from '../signals/evidence.ts';
import { readSignals, type Signals } from '../signals/signals.ts';

let shipped: Ear | undefined;
/** The ear of this version, read once. */
export const shippedEar = (): Ear => {
  shipped ??= readEar();
  return shipped;
};

/**
 * The learned ear on the person's own words. Where it is not sure it says nothing; where the person said
 * nothing, the rules judge a repeated request and a tool's failure as before. Takes time in proportion to a
 * bounded part of the turn.
 */
export function listen(turn: Turn, { model, thresholds }: Ear = shippedEar()): Signals {
  const bounded = boundTurn(turn);
  const ruled = readSignals(turn);
  const words = ownWordsOf(bounded.next, bounded.messages)
    .map((own) => own.words)
    .filter((own) => own !== '')
    .join('\n');
  const heard = hear(model, unitsOf(words));
  if (heard === undefined) return ruled;
  const whole = bounded.next.filter(({ role }) => role === 'user').map(({ content }) => contentText(content));
  if (isOfMachine(words) || whole.some(holdsEditBlock)) return { vote: 0, text: 'ear: as a program writes' };
  const lexical = weigh(lexicalEvidence(words));
  const asked = contentText(bounded.answer?.content).trimEnd();
  const vote = isReply(asked, words) ? 0 : verdictOfEar(heard, lexical, thresholds);
  const isOfWords = lexicalEvidence(words).length > 0;
  if (vote === 0 && !isOfWords && ruled.vote !== 0) return ruled;
  const text = [describe(heard), ...(isOfWords ? [ruled.text] : [])].join('\n');
  const hint = vote === -1 ? (namedHint(ruled) ?? hintHeard(heard, thresholds)) : undefined;
  return hint === undefined ? { vote, text } : { vote, text, hint };
}

/** What the rules understood, where they know a name for all of it: they read order and negation better. */
const namedHint = ({ hint }: Signals): string | undefined =>
  hint !== undefined && wishesIn(hint).length > 0 ? hint : undefined;

/** Words of a reply to a question that the answer ends with; a longer message says more than that. */
const MOST_OF_REPLY = 60;
const yesOrNo =
  /^(?:no|nope|yes|yeah|yep|sure|ok|okay|please|ja|nein|doch|gern|klar|bitte|sí|si|vale|por favor|oui|non|sim|não|nao|好|是|不用|不是|可以|はい|いいえ|うん|ええ)(?![\p{L}\p{M}])|^(?:好的|是的|不用|可以)/iu;

/** "Yes, short please.": what the person says of something that they were asked about. */
const isReply = (answer: string, words: string): boolean =>
  /[?？]["'”’)）]?$/.test(answer) && words.length <= MOST_OF_REPLY && yesOrNo.test(words);

/** "ear: bad 0.99, good 0.00, wishes no-list: Enough bullets." */
function describe({ bad, good, sentences, wishes, ...rest }: Heard): string {
  const kinds = wishesHeard({ bad, good, sentences, wishes, ...rest }, 0.5);
  const [worst] = [...sentences].sort((a, b) => b.bad - a.bad);
  const wished = kinds.length === 0 ? '' : `, wishes ${kinds.join(' ')}`;
  const on = bad < 0.5 ? '' : `: ${worst!.sentence.slice(0, 200).replace(/\s+/g, ' ')}`;
  return `ear: bad ${bad.toFixed(2)}, good ${good.toFixed(2)}${wished}${on}`;
}

export const earJudge: Judge = {
  name: 'ear',
  defaultVotes: 1,
  defaultHintVotes: 0,
  vote: async (turn) => {
    const start = performance.now();
    const signals = listen(turn);
    return {
      ...signals,
      model: modelName(),
      cost: { promptTokens: 0, completionTokens: 0, milliseconds: performance.now() - start },
    };
  },
};

/** Which ear spoke, as the facts of its votes name it. */
export const modelName = (): string => `ear@${shippedEar().digest.slice(0, 12)}`;
