import { any, maybe, type Rule, rule, some } from './rule.ts';
import { badWord, degree, end, form, goodWord, it, itIs, noun, start } from './vocabulary.ts';

const really = some('really|even|actually|at all|quite|still|just');

/** The answer was wrong, of no use, or not what was asked. */
export const complaints: readonly Rule[] = [
  rule(
    'wrong',
    -2,
    [start, itIs, degree, maybe('an?'), badWord, '\\b'],
    '\\bnot (?:wrong|bad|boring|confusing|useless|broken)\\b|\\bif\\b',
  ),
  rule(
    'wrong',
    -2,
    [start, maybe('an?'), degree, badWord, any(end, ` ${noun}${end}`, ' (?:again|and)\\b')],
    '^not (?:wrong|bad)',
  ),
  rule(
    'negated-praise',
    -2,
    [
      start,
      `(?:${it} ${some('is|are|was|were|does|did|do|really|still|just|looks|sounds|seems')})?`,
      some('really|still|just|simply|quite|certainly'),
      '(?:not|never|hardly|far from) ',
      degree,
      some('an?|the|as|exactly|even'),
      any(
        goodWord,
        'right|correct|accurate|true|what i\\b|how i\\b|the way i\\b|enough|good enough|convincing|there yet',
        'funny',
        '(?:look|sound) (?:right|good)|it$|quite$|like (?:that|this)|my question|an? answer|answer$',
      ),
    ],
    '\\b(?:not only|why not|not bad|if)\\b|^do not ',
  ),
  rule('not-asked', -2, [
    '\\b(?:not what|nothing (?:like|to do with) what|more than|less than|other than what) i (?:\\w+ )?',
    '(?:asked|wanted|want|meant|needed|need|said|requested|was (?:asking|looking))',
  ]),
  rule(
    'does-not-help',
    -2,
    [
      `(?:${start}|^.* )`,
      any(it, 'which'),
      ' ',
      really,
      '(?:did|does|do|can|will|would) not ',
      really,
      any(
        'help|work|answer|make (?:any )?sense|address|solve|fix|compile|run|follow|read|listen|understand',
        'get (?:it|me)|mention|include|match|look|do what|seem|count',
      ),
      '\\b',
    ],
    '\\b(?:if|why|when|what|who|so that|please)\\b',
  ),
  rule('makes-no-sense', -2, [start, maybe(it), 'makes (?:no|little|zero) sense\\b']),
  rule('makes-no-sense', -2, [start, `(?:${it} (?:is|was) )?no (?:help|good|use|answer)`, end]),
  rule('you-erred', -2, [
    start,
    'you ',
    some('just|still|always|again|have|had|also|clearly|totally|completely'),
    any(
      'forgot|forget|missed|miss|ignored|ignore|misunderstood|misread|are wrong|are mistaken|keep|kept|broke',
      'failed',
      'made (?:an?|the same|some) (?:mistakes?|errors?)',
      'got (?:it|that|this|me) (?:all |completely |totally )?wrong',
      'did (?:it|that) again|do that again|contradict|repeat(?:ed)?|lied|hallucinat\\w+',
      'made (?:it|that|this) up',
      'already (?:said|told|mentioned|answered|wrote|asked)',
    ),
    '\\b',
  ]),
  rule('you-failed-to', -2, [
    start,
    'you (?:did|do|have|are|were) (?:still )?not ',
    really,
    any(
      'answer\\w*|understand|understood|listen\\w*|follow\\w*|read|mention\\w*|include\\w*|get it',
      'address\\w*',
      'do what|paying',
    ),
    '\\b',
  ]),
  rule('why-did-you', -2, [
    start,
    '(?:why|how come) (?:do|did|are|would|must|does) (?:you|it) ',
    some('always|still|keep|again|even|have to|not'),
    any(
      `keep\\w*|greet\\w*|us(?:e|ing) (?:an? )?${form}|list\\w*|repeat\\w*|ignor\\w*|writ(?:e|ing) so|always`,
      'say(?:ing)? (?:hello|hi|that again)|apologi[sz]\\w*|answer me|listen|read',
    ),
    '\\b',
  ]),
  rule('why-such-form', -2, [start, `why ${some('all|the|a|so many|these|another|again')}${form}`, end]),
  rule('another-such-form', -2, [
    start,
    '(?:another|yet another|still|again) ',
    some('an?|the|with|more'),
    form,
    end,
  ]),
  rule('did-i-not-say', -2, [start, 'did (?:i not|not i) (?:just |already )?(?:say|tell|ask|mention)\\b']),
  rule('did-i-not-say', -2, [start, 'what part of .* (?:do|did) you not\\b']),
  rule('how-often', -2, [
    start,
    'how (?:many times|often) (?:do|must|should|have|did) i (?:have|need|tell|say|ask)\\b',
  ]),
  rule('still-broken', -2, [
    start,
    '(?:(?:it|that|this|which|there) (?:is )?)?still ',
    '(?:not\\b|wrong|broken|fails?|failing|no\\b|the same|too\\b|an error|getting|missing)',
  ]),
  rule(
    'error',
    -2,
    [
      start,
      any(
        '(?:i|it|this|that) (?:get|got|gets|am getting|gave|gives|throws|threw) (?:me )?' +
          '(?:an?|the same|another|some) (?:\\w+ )?(?:error|exception|crash|failure)',
        'same (?:error|problem|issue|mistake|thing)|it (?:crashes|crashed|fails|failed|broke)',
        'there (?:is|are|was|were) (?:still )?(?:an?|some|several|many) (?:mistake|error|bug|typo)s?',
      ),
      '\\b',
    ],
    '\\b(?:when|if|while|my)\\b',
  ),
  rule('i-am-unhappy', -2, [
    start,
    'i am ',
    degree,
    any(
      'not (?:happy|satisfied|convinced|impressed)|disappointed|annoyed|confused (?:by|now)|unhappy',
      'tired of (?:your|the|these|this|being)',
    ),
    '\\b',
  ]),
  rule('puzzled', -1, [
    start,
    any(
      'what|huh|eh|what the (?:hell|heck)|wtf|what do you mean|what is (?:that|this) supposed to mean',
      'i do not (?:understand|get)(?: (?:it|that|this|you|your answer|the answer|what you (?:mean|said)))?',
      '(?:are )?you sure(?: about (?:that|this|it))?|seriously|is (?:this|that) a joke',
      'are you (?:kidding|serious)',
    ),
    end,
  ]),
  rule('emoji', -2, ['👎|😠|😡|🤬|😤|🙄|😞']),
  rule('groan', -1, ['^(?:ugh+|argh+|meh|sigh|facepalm|bah|yikes)\\b']),
];
