import { any, maybe, some } from './rule.ts';

/** Words that people begin with before they come to the point. */
export const start = `^${some(
  'ok|okay|oh|ah|hm+|ugh|argh|well|so|and|also|again|please|just|now|then|still|yet again|once again',
  'not again',
  'no|nope|nah|yes|yeah|yep|hey|sorry|actually|honestly|seriously|really|maybe|perhaps|look|listen|finally',
  'next time|from now on|in (?:the )?future|like i said|as i said|i said|i told you|wait|come on|wow|haha',
  'lol',
  'dude|man|thanks|thank you|alright|all right|cool|great|nice|good|perfect',
)}`;
/** What may stand after the point, up to the end of the clause. */
export const end = `(?: ${any(
  'please|thanks|thank you|then|now|again|instead|next time|this time|here|at all|anymore|any more',
  'from now on',
  'in future|in the future|for me|to me|though|so much|man|indeed|already|first|today|too|all the time',
  'every time',
)})*$`;
export const canYou =
  maybe(
    '(?:can|could|would|will) you|i (?:want|need|would like) you to|try to',
    'you (?:should|must|need to|have to)',
  ) + some('please|maybe|just|also');

/** The answer, by whatever name. */
const answerNames = any(
  'answers?|response|responses|reply|replies|result|output|explanation|summary|text|version|code|list',
  'tone|style|length|format|one|fix|solution|script|command|link|recipe|story|poem|joke|translation',
);
export const it = any(
  'that|this|it|these|those|they|you',
  `(?:your|the|this|that|my last|the last) (?:[a-z]+ )?${answerNames}`,
);
/** The answer, as what is to be said otherwise. */
export const itAgain = any(
  'it|that|this|them',
  'the (?:same(?: thing)?|answer|list|text|last|whole|response|reply)',
  'your \\w+',
);
export const itIs = `(?:${it} (?:is|are|was|were|looks?|seems?|sounds?|feels?|reads?|got) )`;
export const degree = some(
  'still|just|a bit|a little|a lot|way|far|much|really|so|very|too|quite|rather|all|totally|completely',
  'simply|absolutely|pretty|also|kind of|perfectly|exactly|especially',
);
export const article = some(
  'all|any|an?|the|these|those|your|that|this|such|so many|so much|more|another|every|unnecessary|long|silly',
  'same',
);

/** What people like or dislike in the form of an answer. */
export const form = any(
  '(?:bullet(?:ed)? |numbered )?(?:lists?|listings?)|bullets?|bullet[- ]?points?|tables?|markdown|formatting',
  'greetings?|hellos?|introductions?|intros?|preambles?|pleasantries|small ?talk|chit ?chat|apolog(?:y|ies)',
  'emojis?|head(?:ing|er|line)s?|bold(?: text)?|exclamation (?:mark|point)s?|disclaimers?|jargon',
  'closing (?:lines?|words|remarks?|questions?)|sign-?offs?|friendly (?:words|lines?|remarks?)',
  'fluff|filler|padding|repetitions?|rambling|lectur(?:e|es|ing)|follow-?up questions?|essays?',
  'walls? of text',
);
/** Forms that people ask for. */
export const formed = any(
  form,
  '(?:plain |full |complete |normal |whole |running |short |proper )?(?:sentences?|prose|paragraphs?|text)',
  '(?:one|two|three|1|2|3) (?:short |long |simple )?(?:sentences?|lines?|words?|paragraphs?)',
  '(?:a few|few|fewer|less|simpler|other|your own) (?:sentences?|lines?|words?|terms)',
  '(?:short|shorter|brief|long|longer|direct) (?:answers?|replies|responses?|sentences)',
  '(?:simple|simpler|plain) (?:answers?|sentences|words|terms)',
);
/** Ways in which an answer can be otherwise. */
export const change = any(
  'shorter|longer|briefer|simpler|clearer|plainer|tighter|brief|concise|succinct|short|direct|specific',
  `(?:more|less|a bit more|a bit less) ${any(
    'concise|concisely|brief|briefly|direct|directly|details?|detailed|specific|formal|casual|wordy|verbose',
    'technical|concrete|precise|precisely|friendly|chatty|text|words|talk|fluff|simple|simply|succinct',
    'generic|vague',
  )}`,
  '(?:straight )?to the point|fewer words|simply|briefly',
);
export const excess = any(
  'long|short|wordy|verbose|vague|formal|informal|casual|complicated|complex|technical|generic|detailed',
  'brief',
  'long-winded|basic|simple|stiff|chatty|cheerful|dry|abstract',
  'much (?:text|detail|information|info|fluff|talk|words)',
  'many (?:words|lists|bullets|details|emojis|questions)',
  '(?:much|many)$',
);

export const goodWord = any(
  'perfect|perfectly done|great|excellent|awesome|amazing|wonderful|brilliant|fantastic|lovely|nice|good',
  'cool',
  'super|superb|beautiful|helpful|useful|spot on|on point|ideal|neat|sweet|terrific|impressive|delightful',
  'nicely done|well done|well said|well put|marvell?ous|top|the best|clear|crystal clear|concise|outstanding',
  'magnificent|stellar|flawless',
);
export const badWord = any(
  'wrong|incorrect|false|not true|untrue|inaccurate|mistaken|a mistake|bogus|made up|nonsense|rubbish',
  'garbage',
  'trash|crap|useless|unhelpful|pointless|irrelevant|off[ -]topic|outdated|incomplete|broken|terrible|awful',
  'horrible|bad|poor|worse|the worst|weird|confusing|unclear|annoying|boring|stupid|ridiculous|lazy|rude',
  'ugly',
  'disappointing|unacceptable|unreadable|hard to (?:read|follow|understand)$|condescending|patroni[sz]ing',
);
/** What "great" and "bad" may stand before when they speak of the answer. */
export const noun = any(
  'answers?|response|reply|job|work|one|idea|explanation|summary|tips?|advice|suggestions?|point|poem|joke',
  'story|example|format|style|length|way to put it|recipe|stuff|thing|help',
);
