import { type Rule, rule } from './rule.ts';
import { any, degree, end, goodWord, it, itIs, lead, noun } from './vocabulary.ts';

/** The answer was liked. */
export const praise: readonly Rule[] = [
  rule(
    'thanks',
    1,
    `^${lead}(?:many |much |big |a big |huge )?(?:thanks|thank you|thx|thank u|tysm|ty|cheers|much appreciated|appreciated)(?! (?:note|card|letter|speech|message|in advance|you in advance|email|gift))\\b`,
    '\\b(?:no,? thanks|no thank you|in advance|for nothing)\\b',
  ),
  rule(
    'thanks',
    1,
    '\\b(?:thanks|thank you|thx)(?: so much| a lot| very much| again| a bunch| a million)?$',
    '\\b(?:no thanks|no thank you|in advance|say|write|how|mean|translate)\\b',
  ),
  rule('i-appreciate', 2, `^${lead}i (?:really |do )?appreciate (?:it|that|this|your|the)\\b`),
  rule(
    'praise',
    2,
    `^(?:${lead}|.* )${itIs}${degree}(?:an? |the |exactly |my )?${goodWord}${any('$', ` ${noun}\\b`, ' (?:and|for|to|thanks|now|already|enough|like that|this way)\\b')}`,
    '\\b(?:not|never|hardly|if|would be|could be|should be|whether|what|who|why|how|which|why)\\b',
  ),
  rule(
    'praise',
    2,
    `^${lead}${degree}(?:an? |the |such an? |what an? )?${goodWord}${any(end, ` ${noun}${end}`, ' (?:and|with that)\\b')}`,
    '\\b(?:not|never|hardly|could you|can you)\\b',
  ),
  rule('much-better', 2, `^${lead}(?:${it} is )?(?:much|way|far|so much|a lot|even|already|now) better\\b`),
  rule('much-better', 2, `^${lead}${it} is better\\b`, '\\b(?:if|than|or)\\b'),
  rule(
    'exactly-so',
    2,
    `^${lead}(?:${it} (?:is|was) )?(?:exactly|just|precisely)(?: right| so| it| that| this| what i\\b.*| how i\\b.*| the way i\\b.*)?$`,
    '^(?:just|just (?:so|it|that|this))$|\\bnot\\b',
  ),
  rule(
    'as-wanted',
    2,
    `^${lead}${it} (?:is|was) (?:exactly |just |precisely )?(?:what|how|the way|all) i (?:\\w+ )?(?:want|wanted|need|needed|like|liked|asked for|asked|meant|was looking for|prefer|had in mind)\\b`,
    '\\bnot\\b',
  ),
  rule(
    'i-like-it',
    2,
    `^${lead}i (?:really |absolutely |do |just |so |quite |totally )*(?:love|like|enjoy|enjoyed|liked|loved) (?:it|this|that|these|those|how|your|the way|the (?:[a-z]+ )?(?:answer|style|tone|format|idea|explanation|length))\\b`,
    '\\bnot\\b',
  ),
  rule('i-like-it', 2, `^${lead}(?:love|loved|loving) (?:it|this|that|your)\\b`),
  rule(
    'it-worked',
    2,
    `^(?:${lead}|.* )(?:that|this|it|which) (?:really |just |totally |actually |now |all )*(?:helps|helped|works|worked|did it|did the trick|solved|solves|fixed|makes (?:perfect |total )?sense|made sense|answers|answered|cleared|clears|is it)\\b`,
    '\\b(?:not|never|hardly|if|how|why|what|whether|when|so that|make sure|where)\\b',
  ),
  rule(
    'right',
    2,
    `^${lead}(?:${it} (?:is|was|are) )(?:absolutely |totally |exactly |quite |completely )*(?:right|correct|accurate|true)(?: now| thanks)?$`,
    '\\bnot\\b|\\bif\\b',
  ),
  rule(
    'keep-so',
    2,
    `^${lead}(?:keep it up|keep (?:it|going|doing it|writing|answering|them) (?:like (?:this|that)|this way|that way|just like)|more (?:of this|of that|like this|like that|answers like)|always (?:answer|do it|write) (?:like (?:this|that)|this way))\\b`,
  ),
  rule(
    'well-done',
    2,
    `^${lead}(?:you (?:nailed|got|aced) it|well done|good job|great job|nice (?:job|work|one)|good (?:one|bot|work)|bravo|kudos|hats off|you are (?:the best|great|amazing|awesome|a (?:star|genius|lifesaver|life saver))|you rock|way to go|yay|woohoo|hooray|chef'?s kiss|a lifesaver)\\b`,
    '\\bnot\\b',
  ),
  rule(
    'not-bad',
    2,
    `\\bnot (?:too |so |half |at all )?bad\\b(?: at all)?|\\bcould not (?:be (?:better|happier|clearer)|agree more|have (?:put|said) it better)|\\b(?:can not|no) complain(?:ts?)?\\b|^${lead}(?:nothing (?:wrong|to add|to complain)|no (?:changes|complaints|notes|problems? with (?:that|it|this)))\\b`,
  ),
  rule(
    'got-it',
    1,
    `^${lead}(?:got it|makes (?:perfect |total )?sense|i see now|now i (?:get|understand|see)(?: it)?|good to know|that was easy|i learned something)\\b`,
  ),
  rule('emoji', 2, '👍|❤|🎉|😊|😍|🙏|💯|👏|🥰|😀|😃|🤩'),
];
