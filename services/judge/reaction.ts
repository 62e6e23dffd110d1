import { type ChatMessage, contentText, isHuman } from '../../shared/chat/message.ts';
import { userWords } from '../../shared/chat/normalise.ts';
import type { TurnCompleted } from '../../shared/events/turn-completed.ts';
import type { VoteCast } from '../../shared/events/vote-cast.ts';
import { defined } from '../../shared/lang/defined.ts';
import { unmetBy } from './plain-forms.ts';
import { asksNewly, isMarkedOtherwise, isSwapped, STEM } from './request-marks.ts';

type Turn = Pick<TurnCompleted['data'], 'messages' | 'answer' | 'next'>;

/** Maximum characters that are read of a text. */
const READ_LIMIT = 2000;
/** Minimum terms in a message; with fewer, two messages are alike or different by chance. */
const LEAST_TERMS = 2;
/** Minimum terms of the same request in the next message, as a share of those in the first. */
const SAME_REQUEST = 0.5;
/** Maximum share of the answer's terms in a message about a new subject. */
const NEW_SUBJECT = 0.25;

/* Words end where no letter follows: `\b` takes accented letters for the end of a word. */

/** "One more", in several languages: no repeated request. */
const asksForMore =
  /(?<!\p{L})(?:another|more|next|other|else|different|new|also|second|third|continue|instead|noch|mehr|weiter|andere[rs]?|otr[oa]s?|más|autre|encore|plus|outr[oa]s?|mais)(?!\p{L})|更多|再来|另|别的|もっと|他の/iu;

/** A message that addresses the assistant is about its answer, unless it politely asks for something. */
const addressesAssistant =
  /(?<!\p{L})(?:you|your|yours|du|dir|dich|dein\p{L}*|sie|ihr|ihre\p{L}*|tu|te|ti|tus?|usted|vous|votre|toi|você|voce|teu|tua)(?!\p{L})|你|您|あなた/iu;
const asksPolitely =
  /^(?:please |now |ok,? |okay,? |and )?(?:can|could|would|will|do) you (?!not(?!\p{L})|ever(?!\p{L})|always(?!\p{L}))|^(?:kannst du|können sie|könntest du|puedes|podrías|peux-tu|pouvez-vous|pourrais-tu|você pode|pode)(?!\p{L})/iu;
const namesAnswer =
  /(?<!\p{L})(?:answers?|repl(?:y|ies)|responses?|that|this|antwort\p{L}*|das|respuestas?|eso|esto|réponses?|cela|ça|respostas?|isso|isto)(?!\p{L})|回答|答案|这|那|答え|それ/iu;

const asksSomething =
  /[?？]\s*$|^(?:please |now |next,? |ok,? |okay,? )?(?:what|how|why|who|when|where|which|tell|write|give|explain|describe|list|name|make|show|find|compare|translate|summari[sz]e|suggest|recommend|plan|help|can|could|would)(?!\p{L})|^(?:bitte )?(?:was|wie|warum|wer|wann|wo|erklär\p{L}*|schreib\p{L}*|nenn\p{L}*|gib|zeig\p{L}*)(?!\p{L})|^(?:por favor,? )?(?:qué|cómo|cuál|quién|dónde|explica|escribe|dime|dame|haz)(?!\p{L})|^(?:comment|pourquoi|quel\p{L}*|écri\p{L}*|expliqu\p{L}*|donne\p{L}*|dis-moi)(?!\p{L})|^(?:o que|como|qual|escreva|explique|me d[êi]|faça)(?!\p{L})|^(?:请|帮|告诉|写|介绍|什么|怎么|为什么)|(?:ください|教えて)/iu;

/** Observations on a turn that do not depend on its judge. */
export function observationsOn(turn: Turn): Pick<VoteCast['data'], 'reaction' | 'unmet'> {
  const reaction = reactionIn(turn);
  const text = contentText(turn.answer.content).trim();
  return {
    ...defined({ reaction }),
    // a tool result says nothing about the form of the answer
    ...defined({ unmet: text !== '' && turn.next.some(isHuman) ? unmetBy(text) : undefined }),
  };
}

/**
 * What a person did with their next message, whatever it says about the answer: they asked the same again or moved
 * on to another subject. undefined: neither is plain. Time is linear in a bounded part of the texts.
 */
export function reactionIn({ messages, answer, next }: Turn): VoteCast['data']['reaction'] {
  const [reply, ...others] = next;
  const request = messages.findLast(isHuman);
  if (reply === undefined || others.length > 0 || !isHuman(reply) || request === undefined) return undefined;
  const [first, words] = [wordsOfPerson(request), wordsOfPerson(reply)];
  const [before, after] = [termsOf(first), termsOf(words)];
  if (after.size >= LEAST_TERMS && isSameRequest(before, after)) {
    const isOther = asksNewly(asksForMore, first, words) || isMarkedOtherwise(first, words);
    return isOther || [request, reply].some(holdsFile) ? undefined : 'asked-again';
  }
  if (after.size < LEAST_TERMS || !asksSomething.test(words) || namesAnswer.test(words)) return undefined;
  if (addressesAssistant.test(words) && !asksPolitely.test(words)) return undefined;
  // a term of the request may come in a question about the same subject, or in the same one in other words
  if ([...after].some((term) => before.has(term))) return undefined;
  const inAnswer = termsOf(contentText(answer.content).slice(0, READ_LIMIT));
  const known = [...after].filter((term) => inAnswer.has(term)).length;
  return known <= NEW_SUBJECT * after.size ? 'moved-on' : undefined;
}

/** Whether a request has nothing new. One new term may be another subject: "the capital of Chile" after that of Peru. */
function isSameRequest(before: ReadonlySet<string>, after: ReadonlySet<string>): boolean {
  const characters = new Set([...before].join(''));
  // of a script without spaces: another particle in between makes new pairs of known characters
  const isKnown = (term: string): boolean =>
    before.has(term) || (isPair.test(term) && [...term].every((character) => characters.has(character)));
  return [...after].every(isKnown) && after.size >= SAME_REQUEST * before.size && !isSwapped(before, after);
}

/** The same words beside two files are two requests, and only a placeholder may be left of a file. */
const holdsFile = (message: ChatMessage): boolean =>
  /\[(?:image|document)\]|<(?:document|search_result)>/.test(contentText(message.content));

const wordsOfPerson = (message: ChatMessage): string => userWords(message).slice(0, READ_LIMIT).trim();

const stopWords = new Set(
  (
    'the and for with that this what when where which who how why can could would will should please just about tell ' +
    'give show make some any from have has had was were are been does did not you your der die das und ein eine mit ' +
    'von für ist wie was bitte que los las una por para con cómo qué les des est une pour avec dans como para uma por'
  ).split(' '),
);

const isPair = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

/**
 * The subject of a text: the first five characters of its longer words; character pairs in scripts without spaces.
 */
function termsOf(text: string): ReadonlySet<string> {
  const lower = text.toLowerCase().normalize('NFKC');
  const words = lower.match(/[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\d]{3,}/gu) ?? [];
  const runs =
    lower.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]{2,}/gu) ?? [];
  const pairs = runs.flatMap((run) => Array.from({ length: run.length - 1 }, (_, i) => run.slice(i, i + 2)));
  return new Set([
    ...words.filter((word) => !stopWords.has(word)).map((word) => word.slice(0, STEM)),
    ...pairs,
  ]);
}
