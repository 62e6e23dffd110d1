import { type Rule, rule } from './rule.ts';
import { any, badWord, degree, end, form, goodWord, it, itIs, lead, noun } from './vocabulary.ts';

/** The answer was wrong, of no use, or not what was asked. */
export const complaints: readonly Rule[] = [
  rule(
    'wrong',
    -2,
    `^${lead}${itIs}${degree}(?:an? )?${badWord}\\b`,
    '\\bnot (?:wrong|bad|boring|confusing|useless|broken)\\b|\\bif\\b',
  ),
  rule(
    'wrong',
    -2,
    `^${lead}(?:an? )?${degree}${badWord}${any(end, ` (?:${noun})${end}`, ' (?:again|and)\\b')}`,
    '^not (?:wrong|bad)',
  ),
  rule(
    'negated-praise',
    -2,
    `^${lead}(?:${it} (?:is|are|was|were|does|did|do|really|still|just|looks|sounds|seems)+ )*(?:really |still |just |simply |quite |certainly )*(?:not|never|hardly|far from) ${degree}(?:an? |the |as |exactly |even )?(?:${goodWord}|right|correct|accurate|true|what i\\b|how i\\b|the way i\\b|enough|good enough|look right|sound right|sound good|look good|it$|quite$|like (?:that|this)|my question|an answer|convincing|there yet)`,
    '\\b(?:not only|why not|not bad|if)\\b|^do not ',
  ),
  rule(
    'not-asked',
    -2,
    `\\b(?:not what|nothing (?:like|to do with) what|more than|less than|other than what) i (?:\\w+ )?(?:asked|wanted|meant|needed|said|requested|was (?:asking|looking))`,
  ),
  rule(
    'does-not-help',
    -2,
    `^(?:${lead}|.* )(?:that|this|it|you|which|your answer|the answer|your (?:code|fix|solution)|they) (?:really |still |just )*(?:did|does|do|can|will|would) not (?:really |even |actually |at all |quite )*(?:help|work|answer|make (?:any )?sense|address|solve|fix|compile|run|follow|read|listen|understand|get (?:it|me)|mention|include|match|look|do what|seem|count)\\b`,
    '\\b(?:if|why|when|what|which people|who)\\b',
  ),
  rule(
    'makes-no-sense',
    -2,
    `^${lead}(?:${it} )?makes (?:no|little|zero) sense\\b|^${lead}(?:${it} (?:is|was) )?(?:no (?:help|good|use))${end}`,
  ),
  rule(
    'you-erred',
    -2,
    `^${lead}you (?:just |still |always |again |have |had |also |clearly |totally |completely )*(?:forgot|forget|missed|miss|ignored|ignore|misunderstood|misread|made (?:an?|the same|some) (?:mistakes?|errors?)|got (?:it|that|this|me) (?:all |completely |totally )?wrong|are wrong|are mistaken|keep|kept|did it again|did that again|do that again|contradict|repeat(?:ed)?|lied|hallucinat\\w+|made (?:it|that|this) up|broke|failed)\\b`,
  ),
  rule(
    'you-failed-to',
    -2,
    `^${lead}you (?:did|do|have|are|were) (?:still )?not (?:really |even |actually |at all )?(?:answer\\w*|understand|understood|listen\\w*|follow\\w*|read|mention\\w*|include\\w*|get it|address\\w*|do what|paying)\\b`,
  ),
  rule(
    'why-did-you',
    -2,
    `^${lead}(?:why|how come) (?:do|did|are|would|must|does) (?:you|it) (?:always |still |keep |again |even |have to )*(?:keep\\w*|greet\\w*|us(?:e|ing) (?:an? )?${form}|list\\w*|repeat\\w*|ignor\\w*|writ(?:e|ing) so|say(?:ing)? (?:hello|hi|that again)|always|apologi[sz]\\w*|not (?:answer|listen|read|do))\\b`,
  ),
  rule('how-often', -2, `^${lead}how (?:many times|often) (?:do|must|should|have|did) i\\b`),
  rule(
    'still-broken',
    -2,
    `^${lead}(?:(?:it|that|this|which|there) (?:is )?)?still (?:not\\b|wrong|broken|fails?|failing|no\\b|the same|too\\b|an error|getting|does not|did not|is not|missing)`,
  ),
  rule(
    'error',
    -2,
    `^${lead}(?:(?:i|it|this|that|now i) (?:get|got|gets|am getting|gave|gives|throws|threw|now) (?:me )?(?:an?|the same|this|another|some) (?:\\w+ )?(?:error|exception|crash|failure)|same (?:error|problem|issue|mistake|thing)|it (?:crashes|crashed|fails|failed|broke))\\b`,
  ),
  rule(
    'i-am-unhappy',
    -2,
    `^${lead}i am ${degree}(?:not (?:happy|satisfied|convinced|impressed)|disappointed|annoyed|confused (?:by|now)|unhappy|lost|tired of (?:your|the|these|this|being))\\b`,
  ),
  rule(
    'puzzled',
    -1,
    `^${lead}(?:what|huh|eh|what the (?:hell|heck)|wtf|what do you mean|what is (?:that|this) supposed to mean|i do not (?:understand|get)(?: (?:it|that|this|your answer|the answer|what you (?:mean|said)|you))?)${end}`,
  ),
  rule('emoji', -2, '👎|😠|😡|🤬|😤|🙄|😞'),
  rule('groan', -1, '^(?:ugh+|argh+|meh|sigh|facepalm|bah|yikes)\\b'),
];
