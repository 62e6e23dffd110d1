import { type ChatMessage, contentText, isHuman } from '../../shared/chat/message.ts';
import { userWords } from '../../shared/chat/normalise.ts';
import type { TurnCompleted } from '../../shared/events/turn-completed.ts';
import type { VoteCast } from '../../shared/events/vote-cast.ts';
import { unmetBy } from './inferred-wish.ts';

type Turn = Pick<TurnCompleted['data'], 'messages' | 'answer' | 'next'>;

/** Characters of a text that are looked at. */
const LOOK_AT = 2000;
/** Below this many words of its own, a message is alike or unlike another one by chance. */
const FEWEST = 2;
/** Shares of the words of a request, and of the message after it, that both have. */
const ALIKE = { ofRequest: 0.5, ofNext: 0.7 };
/** Of the words of a message about another subject, at most this share stood in the turn before it. */
const STRANGE = 0.25;

/** "One more", in the languages that people write to us. */
const more =
  /\b(?:another|more|next|other|else|different|new|also|second|third|continue|instead|noch|mehr|weiter|andere[rs]?|otr[oa]s?|más|autre|encore|plus|outr[oa]s?|mais)\b|更多|再来|另|别的|もっと|他の/iu;

/** Who speaks to the assistant, speaks of what it did: no new subject, unless they ask it for something. */
const ofYou =
  /\b(?:you|your|yours|du|dir|dich|dein\w*|sie|ihr|ihre\w*|tu|te|ti|tus?|usted|vous|votre|toi|você|voce|teu|tua)\b|你|您|あなた/iu;
const politely =
  /^(?:please |now |ok,? |okay,? |and )?(?:can|could|would|will|do) you (?!not\b|ever\b|always\b)|^(?:kannst du|können sie|könntest du|puedes|podrías|peux-tu|pouvez-vous|pourrais-tu|você pode|pode)\b/iu;
const ofAnswer =
  /\b(?:answers?|repl(?:y|ies)|responses?|that|this|antwort\w*|das|respuestas?|eso|esto|réponses?|cela|ça|respostas?|isso|isto)\b|回答|答案|这|那|答え|それ/iu;

const asks =
  /[?？]\s*$|^(?:please |now |next,? |ok,? |okay,? )?(?:what|how|why|who|when|where|which|tell|write|give|explain|describe|list|name|make|show|find|compare|translate|summari[sz]e|suggest|recommend|plan|help|can|could|would)\b|^(?:bitte )?(?:was|wie|warum|wer|wann|wo|erklär\w*|schreib\w*|nenn\w*|gib|zeig\w*)\b|^(?:por favor,? )?(?:qué|cómo|cuál|quién|dónde|explica|escribe|dime|dame|haz)\b|^(?:comment|pourquoi|quel\w*|écri\w*|expliqu\w*|donne\w*|dis-moi)\b|^(?:o que|como|qual|escreva|explique|me d[êi]|faça)\b|^(?:请|帮|告诉|写|介绍|什么|怎么|为什么)|(?:ください|教えて)/iu;

/** What a turn shows, whatever its judge says of it. */
export function shownBy(turn: Turn): Pick<VoteCast['data'], 'reaction' | 'unmet'> {
  const reaction = reactionIn(turn);
  const text = contentText(turn.answer.content).trim();
  return {
    ...(reaction === undefined ? {} : { reaction }),
    // what a tool made of a call says nothing of the words before it
    ...(text !== '' && turn.next.some(isHuman) ? { unmet: unmetBy(text) } : {}),
  };
}

/**
 * What a person did by their next message, whatever it says of the answer: they asked the same again, or went on
 * to another subject. undefined: neither is plain. Reads a bounded part, in time that grows with its length.
 */
export function reactionIn({ messages, answer, next }: Turn): VoteCast['data']['reaction'] {
  const said = next.filter(isHuman);
  const asked = messages.findLast(isHuman);
  if (said.length !== 1 || said.length !== next.length || asked === undefined) return undefined;
  const words = wordsOfPerson(said[0]!);
  const [before, after] = [termsOf(wordsOfPerson(asked)), termsOf(words)];
  const shared = [...after].filter((term) => before.has(term)).length;
  if (after.size >= FEWEST && shared >= ALIKE.ofNext * after.size && shared >= ALIKE.ofRequest * before.size)
    return more.test(words) ? undefined : 'asked-again';
  if (after.size < FEWEST || !asks.test(words) || ofAnswer.test(words)) return undefined;
  if (ofYou.test(words) && !politely.test(words)) return undefined;
  const told = termsOf(contentText(answer.content).slice(0, LOOK_AT));
  const known = [...after].filter((term) => before.has(term) || told.has(term)).length;
  return known <= STRANGE * after.size ? 'moved-on' : undefined;
}

const wordsOfPerson = (message: ChatMessage): string => userWords(message).slice(0, LOOK_AT).trim();

const empty = new Set(
  (
    'the and for with that this what when where which who how why can could would will should please just about tell ' +
    'give show make some any from have has had was were are been does did not you your der die das und ein eine mit ' +
    'von für ist wie was bitte que los las una por para con cómo qué les des est une pour avec dans como para uma por'
  ).split(' '),
);

/** What a text is about: beginnings of its longer words, and pairs of characters where no spaces stand. */
function termsOf(text: string): ReadonlySet<string> {
  const lower = text.toLowerCase().normalize('NFKC');
  const words = lower.match(/[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\d]{3,}/gu) ?? [];
  const runs =
    lower.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]{2,}/gu) ?? [];
  const pairs = runs.flatMap((run) => Array.from({ length: run.length - 1 }, (_, i) => run.slice(i, i + 2)));
  return new Set([...words.filter((word) => !empty.has(word)).map((word) => word.slice(0, 5)), ...pairs]);
}
