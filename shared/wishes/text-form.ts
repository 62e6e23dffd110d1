/** Measures of the form of a text by its characters, for the listed languages. */

const bullet = /^[ \t]*(?:[-*•‣◦▪–—]\s+\S|・\s*\S|\d{1,2}(?:[.)]\s+|[、．]\s*)\S|[一二三四五六七八九十]、)/u;
const number = /^[ \t]*(?:\d{1,2}(?:[.)]\s+|[、．]\s*)\S|[一二三四五六七八九十]、)/u;

const linesOf = (text: string): readonly string[] => text.split('\n');

/** Lines that begin like list items. */
export const listLines = (text: string): number => linesOf(text).filter((line) => bullet.test(line)).length;
export const numberedLines = (text: string): number =>
  linesOf(text).filter((line) => number.test(line)).length;

/** Full stops that do not end a sentence. */
const abbreviations =
  /\b(?:e\.g|i\.e|etc|vs|approx|Dr|Mr|Mrs|Ms|St|No|z\. ?B|d\. ?h|bzw|ca|p\. ?ej|Sr|Sra)\./gu;

/** Number of sentences; a list item counts as one. */
export function sentenceCount(text: string): number {
  return linesOf(text.replace(abbreviations, ''))
    .map((line) => line.trim())
    .filter((line) => /[\p{L}\p{N}]/u.test(line))
    .map((line) => {
      const content = line.replace(/^\d{1,2}[.)]\s+/, '');
      const ends = content.match(/(?<![.!?…])[.!?…]+["')\]»”’]*(?=\s|$)|[。！？]+/gu)?.length ?? 0;
      const endsOpen = !/[.!?…。！？]["')\]»”’\s]*$/u.test(content);
      return ends + Number(endsOpen);
    })
    .reduce((sum, count) => sum + count, 0);
}

/** en, de, es, fr, pt, it, nl, ru with a space or a mark behind; zh, ja, ko without. */
const greetings = new RegExp(
  `^[^\\p{L}]*(?:(?:${[
    'hi|hello|hey|hiya|howdy|greetings|welcome|good (?:morning|afternoon|evening|day)|dear \\p{L}+',
    'hallo|guten (?:tag|morgen|abend)|grüß (?:gott|dich)|servus|moin|liebe[rs]? \\p{L}+|willkommen',
    'hola|buen(?:os|as) (?:días|dias|tardes|noches)|buenas|bienvenid[oa]s?',
    'bonjour|bonsoir|salut|coucou|bienvenue',
    'olá|ola|oi|bom dia|boa (?:tarde|noite)|bem-vind[oa]',
    'ciao|salve|buongiorno|buonasera|hoi|goede(?:morgen|middag|navond)',
    'привет|здравствуйте|здравствуй|добрый день',
  ].join('|')})(?!\\p{L})|你好|您好|大家好|嗨|早上好|こんにちは|こんばんは|おはよう|やあ|안녕)`,
  'iu',
);
export const hasGreeting = (text: string): boolean => greetings.test(text);

const kindWords = new RegExp(
  [
    'hope (?:this|that|it|these) (?:helps?|is)|let me know|(?:have|enjoy) (?:a|your) \\p{L}*|take care|all the best|good luck',
    'glad to help|happy to help|feel free|any(?:thing else| (?:other|more) questions?)|enjoy|cheers|best wishes|you have got this',
    'hoffe,? (?:das|dies|es)|viel (?:erfolg|spaß|glück)|alles gute|sag (?:mir )?(?:gern|einfach)|melde dich|schönen (?:tag|abend)|liebe grüße',
    'espero que|buena suerte|mucha suerte|un saludo|que tengas|si necesitas|avísame|disfruta',
    "j'espère|bonne (?:chance|journée|soirée|continuation)|n'hésite|bon courage|à bientôt",
    'boa sorte|tenha um|qualquer (?:dúvida|coisa)|abraços?|bom proveito',
    '希望(?:这|對|对|能)|祝(?:你|您)|如果(?:你|您)?(?:还|還|有)|加油|お役に立て|頑張って|お気軽に|良い一日',
  ].join('|'),
  'iu',
);
/** Whether the last sentence says goodbye or offers more help. */
export function hasClosing(text: string): boolean {
  const last =
    /[^.!?。！？\n]*[.!?。！？"')\s\p{Extended_Pictographic}]*$/u.exec(text.trim().slice(-200))?.[0] ?? '';
  return kindWords.test(last);
}

const apologies =
  /\b(?:sorry|apologi[sz]e|apologies|my bad|entschuldig\w*|verzeih\w*|tut mir leid|lo siento|perd[oó]n|disculp\w*|désolée?|excuse[zs]?-moi|pardon|desculp\w*|lamento)(?!\p{L})|抱歉|对不起|不好意思|ごめん|申し訳|すみません/iu;
export const hasApology = (text: string): boolean => apologies.test(text);

const examples =
  /\b(?:for example|for instance|e\.g\.|such as|zum Beispiel|z\. ?B\.|por ejemplo|par exemple|por exemplo|ad esempio)|例如|比如|例えば|たとえば/iu;
export const hasExample = (text: string): boolean => examples.test(text);

/** Excludes digits and signs that Unicode counts as emoji. */
export const hasEmoji = (text: string): boolean => /(?![©®™‼⁉↔-↪])\p{Extended_Pictographic}/u.test(text);

export const endsWithQuestion = (text: string): boolean => /[?？؟]["')\]»”’\s]*$/u.test(text.trim());

const fence = /```[^\n]*\n[\s\S]*?(?:```|$)/g;
/** Share of characters in fenced code blocks, without white space. */
export function codeShare(text: string): number {
  const length = (piece: string) => piece.replace(/\s/g, '').length;
  const all = length(text);
  return all === 0 ? 0 : length((text.match(fence) ?? []).join('')) / all;
}

/** Words outside code blocks; in scripts without spaces, characters. */
export const wordsBesideCode = (text: string): number =>
  text.replace(fence, ' ').match(/[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]|[\p{L}\p{N}'’-]+/gu)?.length ??
  0;

const markdown = /^#{1,6} |\*\*\S|__\S|`|^\|.*\|[ \t]*$|\]\(|^[ \t]*[-*+] \S/mu;
export const hasMarkdown = (text: string): boolean => markdown.test(text);
