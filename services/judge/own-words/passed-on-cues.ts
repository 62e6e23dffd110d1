/** Maximum characters that are read of a line or a sentence. */
const READ_LIMIT = 300;

/** Words before a colon that are the person's own, not the name of a quoted speaker. */
const ownLabels: ReadonlySet<string> = new Set([
  ...(
    'no nope yes wrong right note hint please ok okay well question edit update ps also still again actually sorry ' +
    'hm hmm correction problem problems issue issues bug error answer summary perfect great thanks nice reminder ' +
    'remember example better instead next first second third one two three last finally today tomorrow feedback ' +
    'point points reason fact suggestion request goal rule rules style format length tone language so and but listen ' +
    'nein nochmal wieder hinweis anmerkung falsch nota ojo non encore remarque obs não ' +
    '反馈 意见 注意 更正 又来 又来了 不对 感想 訂正 また'
  ).split(' '),
  ...[
    'my feedback',
    'noch mal',
    'schon wieder',
    'otra vez',
    'de nuevo',
    'encore une fois',
    'de novo',
    'outra vez',
  ],
]);

const separator = /^(?:[-_*=~]\s?){3,}$/;
/** `=== page.html ===`, `--- a.eml ---`, `$$$`: three of a mark that no sentence begins with. */
const fence = /^([[\p{P}\p{Sm}\p{Sc}\p{Sk}]--[.!?…,:;\(\)]])\1\1/v;
const capitalMark = /^\W{0,10}(?:BEGIN|START|END)(?: OF)?(?: THE)? [A-Z]/;
const onlyBrackets = /^\[[^\]\n]{1,80}\]$/;
const mention = /^@[\p{L}\p{N}_]/u;
const forwarded =
  /^(?:-{2,}\s*(?:original|forwarded|weitergeleitete|ursprüngliche)|begin forwarded message)/i;
const mailHeader =
  /^(?:from|sent|to|cc|date|subject|von|gesendet|an|betreff|objet|asunto)(?:\s?:|\s[-–—]\s)/i;
const attribution = /\b(?:wrote|writes|schrieb|écrit|escribió)(?: [^\s:]+){0,4}\s?:$/i;
const greetingWord =
  '(?:[Hh]i|[Hh]ello|[Hh]ey|[Hh]allo|[Gg]ood (?:day|morning|afternoon|evening)|[Ll]iebe[rs]?|[Bb]onjour|[Hh]ola),?';
/** "Hi Anna" or "hi anna,": without a mark at the end the name has a capital, unlike the words of "Hey, too long". */
const salutations: readonly RegExp[] = [
  new RegExp(`^${greetingWord}(?: \\p{Lu}[\\p{L}.'-]*){1,4}\\s?(?:[,!:]|$)`, 'u'),
  new RegExp(`^${greetingWord}(?: \\p{L}[\\p{L}.'-]*){1,4}\\s?[,!:]`, 'iu'),
  /^dear\b[^,:!\n]{1,60}(?: \p{Lu}[\p{L}.'-]*){0,3}\s?(?:[,!:]|$)/iu,
];
/** The closing line of a mail; only a signature may follow. */
const farewell =
  /^(?:(?:(?:kind|best|warm|many)(?:est)? )?regards|(?:best|kind|warm|all my) wishes|all the best|best|cheers|sincerely|yours(?: \w+)?|(?:yours )?(?:sincerely|faithfully|truly)|respectfully|mit (?:freundlichen|besten|lieben) grüßen|(?:viele|liebe|beste) grüße|mfg|cordialement|bien à vous|saludos|un saludo|atentamente|cordiali saluti)(?:,|\s?[-–—]|$)/iu;
const signature =
  /^(?:--|(?:sent|gesendet|envoyé|enviado|inviato) (?:from|von|mit|depuis|desde|da)\b.{1,60})$/i;
/** Maximum lines from a farewell to the end of a mail: name, workplace. */
const MOST_BELOW = 4;
const toolLabel =
  /^(?:\[[^\]\n]{1,80}\]\s?(?:result|output|response)|(?:(?:tool|function|command|action|shell|api|code)[ _-])?(?:observation|output|results?|response|returned|stdout|stderr))(?:[ _]?\d+)?(?:\s?\([^)\n]{1,80}\))?(?:\s?:|\s[-–—]\s|$)/i;
const chatLine =
  /^(?:[-*•] )?(?:\[[^\]\n]{1,40}\] ?[^\s:]{1,40}(?: [^\s:]{1,40})?|\p{Lu}[\p{L}\p{N}_.-]{0,30}(?: \p{Lu}[\p{L}.-]{0,30})?(?: ?\([^)\n]{1,40}\))?|(?:user|assistant|human|ai|bot|system|customer|agent|client|support)):(?:\s|$)/u;
const data = /^[{[]\s?(?:["{[]|$)/;
const heading = /^#{1,6} /;

const lineMarks: readonly RegExp[] = [
  separator,
  fence,
  capitalMark,
  onlyBrackets,
  forwarded,
  mailHeader,
  ...salutations,
  toolLabel,
  heading,
];

/** Whether a line begins a passed-on text: a mail, a chat, tool output, a page. */
export function foreignLine(line: string, isFirst: boolean): boolean {
  const start = line.slice(0, READ_LIMIT);
  const label = /^(?:[-*•] )?([^\s:]{1,40}):/.exec(start)?.[1]?.toLowerCase();
  if (chatLine.test(start) && !(label !== undefined && ownLabels.has(label))) return true;
  if (isFirst && data.test(start)) return true;
  return (
    lineMarks.some((mark) => mark.test(start)) ||
    (isFirst && mention.test(start)) ||
    attribution.test(line.slice(-READ_LIMIT))
  );
}

/** Whether a text ends like a mail, so that all of it may be a mail. */
export function endsLikeMail(text: string): boolean {
  const lines = text
    .slice(-READ_LIMIT)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const last = lines.slice(-MOST_BELOW);
  return last.some((line, at) => signature.test(line) || (at < last.length - 1 && farewell.test(line)));
}

/** Requests that are about a text and hardly ever about the previous answer. */
const textWork =
  /\b(?:summari[sz]e|sum (?:it|this|that|them)? ?up|tl ?;? ?dr|translate|proof-?read|paraphrase|transcribe|classify|categori[sz]e|sentiment|grammar|spelling|spell-?check|extract|draft|compose)\b|\b(?:reply|respond|react) to\b|\banswer (?:to )?(?:this|that|the|my|him|her|them|a|an) (?:e-?mail|mail|message|letter|question from|customer|review|comment|ticket|post)\b/i;
const theText =
  /\b(?:the|an?|his|her|their|its) (?:\p{L}+ )?(?:e-?mail|mail|message|letter|article|page|website|post|tweet|review|comment|ticket|transcript|document|log|paragraph|passage|minutes|chat|thread|essay|paper|contract|stack ?trace|traceback|snippet|csv|speech|quote|story|poem|song|script|dialog(?:ue)?)s?\b/iu;
const pointing = /\b(?:this|these|following|below|attached|here)\b/i;
const asking =
  /^\W*(?:(?:please|now|then|and|also|so|ok|okay|can you|could you|would you|will you) ){0,4}(?:explain|check|review|read|look|see|analy[sz]e|improve|edit|rewrite|fix|correct|rate|evaluate|judge|compare|help|turn|convert|format|use|consider|here|take|find|count|list|tell me|give me|answer|what|how|who|which|why|when|where|does|do|is|are|based on)\b/i;
/** a verb with its object: "make a table out of", "add to my list" */
const order =
  /^\W*(?:(?:please|now|then|and|also|so|ok|okay|can you|could you|would you|will you) ){0,4}(?!(?:not|like|no|that|this|it|all|with|without|still|same|in|of|on)\b)\p{L}{2,20} (?:the|this|these|an?|my|his|her|their|our|all|any|out|up|to|me|for|in|on)\b/iu;
const received =
  /\b(?:i|we) (?:just )?(?:got|received|found|have|saw|read) (?:this|these|the following|an?)\b/i;
const reported =
  /\b([\p{L}']+) (?:(?:just|also|then|already|has|have) )?(?:wrote|writes|written|said|says|replied|replies|answered|asked|asks|commented|posted|sent|sends|told me|tells me|texted|mailed|emailed|complained)\b/giu;
const speakers = new Set(['i', 'you', 'we', 'it', 'that', 'this', 'what', 'as', 'who', 'not']);

/** Whether a sentence announces someone else's text, or asks for something about it. */
export function introduces(sentence: string): boolean {
  const start = sentence.slice(0, READ_LIMIT);
  if (textWork.test(start) || received.test(start)) return true;
  const asks = asking.test(start) || order.test(start);
  if ((asks || start.trimEnd().endsWith('?')) && pointing.test(start)) return true;
  return asks && theText.test(start);
}

/** The index in a sentence where someone else's words begin, for example behind "my boss says"; -1: none. */
export function startOfReport(sentence: string): number {
  for (const { index, 0: report, 1: speaker } of sentence.slice(0, READ_LIMIT).matchAll(reported))
    if (!speakers.has(speaker!.toLowerCase())) return index + report.length;
  return -1;
}

/** The index behind the colon where an announced text begins; -1: none. */
export function endOfAnnouncement(sentence: string): number {
  const { index } = /:(?=\s|$)|(?<=\P{ASCII}):/u.exec(sentence) ?? { index: -1 };
  const label = sentence.slice(0, index).trim().toLowerCase();
  return index === -1 || ownLabels.has(label) ? -1 : index + 1;
}

/** Whether a short paragraph asks for something. */
export const isRequest = (paragraph: string): boolean =>
  introduces(paragraph) || paragraph.trimEnd().endsWith('?') || asking.test(paragraph.slice(0, READ_LIMIT));
