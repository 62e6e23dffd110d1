import { any, maybe, type Rule, rule, some } from './rule.ts';
import { degree, end, form, goodWord, it, itIs, noun, start } from './vocabulary.ts';

const thanks = any('thanks|thank you|thx|thank u|tysm|ty|cheers|much appreciated|appreciated');
const thanksForThings =
  '(?! (?:note|card|letter|speech|message|email|gift|in advance|you in advance|but no|anyway))\\b';
const asWanted = any(
  'want|wanted|need|needed|like|liked|asked for|asked|meant|was looking for|prefer|had in mind|hoped for',
);
const asksOrDoubts =
  '\\b(?:not|never|hardly|if|whether|would be|could be|should be|what|who|why|how|which)\\b';
const negated = '\\b(?:not|never|hardly)\\b';

/** The answer was liked. */
export const praise: readonly Rule[] = [
  rule(
    'thanks',
    1,
    [start, maybe('many|much|big|a big|huge'), thanks, thanksForThings],
    '\\b(?:no thanks|no thank you|in advance|for nothing)\\b',
  ),
  rule(
    'thanks',
    1,
    ['\\b(?:thanks|thank you|thx)(?: so much| a lot| very much| again| a bunch| a million)?$'],
    '\\b(?:no thanks|no thank you|in advance|say|write|how|mean|translate|or)\\b',
  ),
  rule('i-appreciate', 2, [start, 'i (?:really |do )?appreciate (?:it|that|this|your|the)\\b']),
  rule(
    'praise',
    2,
    [
      `(?:${start}|^.* )`,
      itIs,
      degree,
      maybe('an?|the|my'),
      goodWord,
      any('$', ` ${noun}\\b`, ' (?:and|for|to|thanks|now|already|enough|like that|this way)\\b'),
    ],
    asksOrDoubts,
  ),
  rule(
    'praise',
    2,
    [
      start,
      degree,
      maybe('an?|the|such an?|what an?'),
      goodWord,
      any(end, ` ${noun}${end}`, ' (?:and|with that)\\b'),
    ],
    '\\b(?:not|never|hardly|could you|can you)\\b',
  ),
  rule(
    'sounds-good',
    1,
    [start, '(?:looks|sounds|seems|works|reads) ', degree, any(goodWord, 'for me'), end],
    negated,
  ),
  rule(
    'better',
    2,
    [
      start,
      `(?:${it} is )?(?:much|way|far|so much|a lot|even|already|now) `,
      '(?:better|nicer|clearer|easier to (?:read|follow)|more (?:helpful|useful|like it))\\b',
    ],
    '\\bplease\\b',
  ),
  rule('better', 2, [start, it, ' is better\\b'], '\\b(?:if|than|or|not)\\b'),
  rule(
    'exactly-so',
    2,
    [
      start,
      `(?:${it} (?:is|was) )?(?:exactly|just|precisely)`,
      any('', ' right| so| it| that| this', ' (?:what|how|as|the way|the answer|the one) i\\b.*'),
      '$',
    ],
    '^(?:just|just (?:so|it|that|this))$|\\bnot\\b',
  ),
  rule('exactly-so', 2, [
    start,
    any('yes like (?:that|this)', 'like (?:that|this)', 'that is it', 'that is the one'),
    '$',
  ]),
  rule(
    'as-wanted',
    2,
    [
      start,
      it,
      ' (?:is|was) ',
      maybe('exactly|just|precisely'),
      '(?:what|how|the way|all) i (?:\\w+ )?',
      asWanted,
      '\\b',
    ],
    '\\bnot\\b',
  ),
  rule(
    'i-like-it',
    2,
    [
      start,
      'i ',
      some('really|absolutely|do|just|so|quite|totally'),
      '(?:love|like|enjoy|enjoyed|liked|loved) ',
      any(
        'it|this|that|these|those|how|your|the way',
        'the (?:[a-z]+ )?(?:answer|style|tone|format|idea|explanation|length)',
      ),
      '\\b',
    ],
    '\\bnot\\b|\\bit when (?!you)',
  ),
  rule('i-like-it', 2, [
    start,
    '(?:love|loved|loving) (?:it|this|that|your|how|the (?:[a-z]+ )?(?:answer|style|tone|format|idea))\\b',
  ]),
  rule(
    'it-worked',
    2,
    [
      `(?:${start}|^.* )(?:that|this|it|which) `,
      some('really|just|totally|actually|now|all'),
      any(
        'helps|helped|works|worked|did it|did the trick|solved|solves|fixed|is it',
        'makes (?:perfect |total )?sense|made sense|answers|answered|cleared|clears',
      ),
      '\\b',
    ],
    '\\b(?:not|never|hardly|if|how|why|what|whether|when|so that|make sure|where)\\b',
  ),
  rule(
    'right',
    2,
    [
      start,
      any(`${it} (?:is|was|are) ${degree}(?:right|correct|accurate|true)`, 'correct|bingo|exactly right'),
      '(?: now| thanks)?$',
    ],
    '\\b(?:not|if)\\b',
  ),
  rule('keep-so', 2, [
    start,
    any(
      'keep it up',
      'keep (?:it|going|doing it|writing|answering|them) (?:like (?:this|that)|this way|that way|just like)',
      'more (?:of this|of that|like this|like that|answers like)',
      'always (?:answer|do it|write) (?:like (?:this|that)|this way)',
    ),
    '\\b',
  ]),
  rule(
    'no-such-form-at-last',
    2,
    [
      start,
      `(?:this time )?(?:no|without|with no) (?:more )?(?:an? |the )?${form} (?:at last|this time|today)$`,
    ],
    'please',
  ),
  rule(
    'well-done',
    2,
    [
      start,
      any(
        'you (?:nailed|got|aced) it|well done|good job|great job|nice (?:job|work|one)|good (?:one|bot|work)',
        'bravo',
        'you are (?:the best|great|amazing|awesome|a (?:star|genius|lifesaver|life saver))|you rock',
        'way to go',
        "kudos|hats off|yay|woohoo|hooray|chef'?s kiss|a lifesaver",
      ),
      '\\b',
    ],
    '\\bnot\\b',
  ),
  rule('not-bad', 2, ['\\bnot (?:too |so |half |at all )?bad\\b']),
  rule('not-bad', 2, [
    any(
      '\\bcould not (?:be (?:better|happier|clearer)|agree more|have (?:put|said) it better)',
      '\\b(?:can not|no) complain(?:ts?)?\\b',
      `${start}nothing (?:wrong|to add|to complain)\\b`,
      `${start}no (?:changes|notes|problems? with (?:that|it|this))\\b`,
    ),
  ]),
  rule('got-it', 1, [
    start,
    any(
      'got it|makes (?:perfect |total )?sense|i see now|now i (?:get|understand|see)(?: it)?|good to know',
      'that was easy|i learned something',
    ),
    '\\b',
  ]),
  rule('emoji', 2, ['👍|❤|🎉|😊|😍|🙏|💯|👏|🥰|😀|😃|🤩']),
];
