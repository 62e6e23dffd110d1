import { contentText } from '../../../../shared/chat/message.ts';
import { wishesIn } from '../../../../shared/wishes/wishes.ts';
import { holdsEditBlock, isOfMachine, opensWithLabel } from '../../ear/machine.ts';
import type { Heard } from '../../ear/model.ts';
import type { OpenEar } from '../../ear/open-ear.ts';
import { asks, hearBeyondOpening } from '../../ear/opening.ts';
import { hintHeard, verdictOfEar, wishesHeard } from '../../ear/verdict.ts';
import { wishesForAnswer } from '../../ear/wishes-for-answer.ts';
import { ownWordsOf } from '../../own-words/own-words.ts';
import { boundTurn, type Turn } from '../signals/bound-turn.ts';
import { lexicalEvidence, weigh } from '../signals/evidence.ts';
import { readSignals, type Signals } from '../signals/signals.ts';

/**
 * Judges the person's own words with the ear. An unsure ear gives no verdict. If the person wrote nothing, the rules
 * judge repeated requests and tool failures. Time is linear in a bounded part of the turn.
 */
export function listen(turn: Turn, ear: OpenEar): Signals {
  const bounded = boundTurn(turn);
  const bySignals = readSignals(turn);
  const words = ownWordsOf(bounded.next, bounded.messages)
    .map((own) => own.words)
    .filter((text) => text !== '')
    .join('\n');
  const answer = contentText(bounded.answer?.content).trimEnd();
  const reading = hearBeyondOpening(ear, words, asks(answer));
  if (reading === undefined) return bySignals;
  const { heard, thresholds } = reading;
  const nextTexts = bounded.next
    .filter(({ role }) => role === 'user')
    .map(({ content }) => contentText(content));
  if (isOfMachine(words) || nextTexts.some((text) => holdsEditBlock(text) || opensWithLabel(text)))
    return { vote: 0, text: 'ear: as a program writes' };
  const evidence = lexicalEvidence(words);
  const length = nextTexts.reduce((sum, text) => sum + text.length, 0);
  const read = { heard, bySignals: weigh(evidence), length };
  const vote = isReply(answer, words) ? 0 : verdictOfEar(read, thresholds);
  const hasEvidence = evidence.length > 0;
  if (vote === 0 && !hasEvidence && bySignals.vote !== 0) return bySignals;
  const text = [describe(heard), ...(hasEvidence ? [bySignals.text] : [])].join('\n');
  const meant = { ...heard, wishes: wishesForAnswer(heard.wishes, answer) };
  const hint = vote === -1 ? (namedHint(bySignals) ?? hintHeard(meant, thresholds)) : undefined;
  return hint === undefined ? { vote, text } : { vote, text, hint };
}

/** The hint of the rules if it names known wishes: the rules read word order and negation better. */
const namedHint = ({ hint }: Signals): string | undefined =>
  hint !== undefined && wishesIn(hint).length > 0 ? hint : undefined;

/** Maximum length of a mere reply to a question at the end of the answer. Characters. */
const LONGEST_REPLY = 60;
const yesOrNo =
  /^(?:no|nope|yes|yeah|yep|sure|ok|okay|please|ja|nein|doch|gern|klar|bitte|sí|si|vale|por favor|oui|non|sim|não|nao|好|是|不用|不是|可以|はい|いいえ|うん|ええ)(?![\p{L}\p{M}])|^(?:好的|是的|不用|可以)/iu;

/** Whether the person replies to a question of the answer: "Yes, short please." */
const isReply = (answer: string, words: string): boolean =>
  /[?？]["'”’)）]?$/.test(answer) && words.length <= LONGEST_REPLY && yesOrNo.test(words);

/** "ear: bad 0.99, good 0.00, wishes no-list: Enough bullets." */
function describe({ bad, good, sentences, wishes, ...rest }: Heard): string {
  const kinds = wishesHeard({ bad, good, sentences, wishes, ...rest }, 0.5);
  const [worst] = [...sentences].sort((a, b) => b.bad - a.bad);
  const wished = kinds.length === 0 ? '' : `, wishes ${kinds.join(' ')}`;
  const on = bad < 0.5 ? '' : `: ${worst!.sentence.slice(0, 200).replace(/\s+/g, ' ')}`;
  return `ear: bad ${bad.toFixed(2)}, good ${good.toFixed(2)}${wished}${on}`;
}
