import { any, maybe, type Rule, rule, some } from './rule.ts';
import { canYou, change, degree, end, excess, formed, itAgain, itIs, start } from './vocabulary.ts';

/** "this" as the answer, not "this sentence of mine". */
const onlyIt = any('it|that|this|them').concat(
  any(end, '(?= (?:and|so|in|as|with|without|to|into|more|better|properly|up|down)\\b)'),
);
const quest = 'about|how|what|why|when|where|who|which|whether|if';

/** The person wants it otherwise: a wish to change the answer is a verdict on it. */
export const corrections: readonly Rule[] = [
  rule('i-wish', -2, [
    start,
    'i ',
    maybe('really|do'),
    '(?:wish|would (?:like|love|prefer) it if|would (?:prefer|rather)(?: if)?) ',
    '(?:you|it|that|this|the answer)\\b',
  ]),
  rule(
    'too-much',
    -2,
    [start, `${itIs}?`, degree, '(?:too|overly|unnecessarily|needlessly) ', excess, '\\b'],
    '\\bnot too\\b|\\b(?:what|how|if)\\b',
  ),
  rule(
    'too-much',
    -2,
    [
      start,
      itIs,
      '(?:a bit|a little|rather|quite|so|very|kind of|pretty|awfully) ',
      '(?:long|wordy|verbose|vague|complicated|generic|stiff|long-winded|chatty|confusing|dry)\\b',
    ],
    '\\bnot\\b',
  ),
  rule(
    'change-it',
    -2,
    [
      start,
      canYou,
      some(
        'i (?:want|need|would like|would prefer|would rather have|prefer)|let us|get|go|be|give me|something',
      ),
      some('(?:make|keep|say|explain|write|put|phrase) (?:it|this|that|them|your answers?|the answers?)'),
      some('an?|the|it|in|even|much|a bit|a lot|a little|still|way|far|be|answer|reply'),
      change,
      `(?: ${any(
        'answers?|version|one|response|reply|sentences|words|way|form|please|next time',
        'about (?:it|that|this)|in your answers?',
        'and (?:without|no|in|with|less|more|fewer|do not|skip|not|avoid) .*',
      )})*`,
      end,
    ],
    '\\bnot\\b',
  ),
  rule('rework', -2, [
    start,
    canYou,
    any(
      'shorten|simplify|condense|trim|tighten|redo|retry|rephrase|reword|revise|rewrite|correct|fix|reformat',
    ),
    ' ',
    any(onlyIt, '(?:your|the) (?:answer|text|list|last|response|reply|whole)\\b'),
  ]),
  rule(
    'rework',
    -2,
    [
      start,
      canYou,
      any(
        'give|write|put|format|say|do|make|turn|convert|phrase|show|return|present|send|answer|reply|explain',
      ),
      '(?: me)? ',
      any(
        `${itAgain} ${some('again|instead|all')}(?:as|in|into|with|using) `,
        '(?:it|that|this) (?=an? |one )',
      ),
      some('an?|the|just|only|simple'),
      formed,
      '\\b',
    ],
    '\\b(?:how|story|essay about|poem)\\b',
  ),
  rule('rework', -2, [
    start,
    canYou,
    '(?:be|stay|keep it|make it) ',
    change,
    ' and (?:clear|simple|sweet|direct)\\b',
  ]),
  rule('rework', -2, [start, canYou, '(?:go into|add) (?:more |some |greater )?details?', end]),
  rule('just-answer', -2, [
    start,
    canYou,
    maybe('i (?:only |just )?(?:want|need|wanted|needed)'),
    '(?:just|only|simply|straight|directly) ',
    maybe('give me|tell me|to'),
    '(?:answer|the (?:answer|facts?|result|number|code|word|name)|reply|get to|the point)\\b',
  ]),
  rule(
    'get-to-the-point',
    -2,
    [
      start,
      canYou,
      any(
        '(?:get|come|go|stick|cut) (?:straight |right )?to the (?:point|chase|answer|facts)',
        'answer (?:the|my) question|answer (?:directly|me)|pay attention|focus|listen to me',
        'follow (?:my|the) instructions?',
        'read (?:it|that|my \\w+|what i) (?:again|wrote|properly|carefully)',
      ),
      '\\b',
    ],
    '\\bhow (?:do|can|to)\\b',
  ),
  rule(
    'try-again',
    -2,
    [
      start,
      canYou,
      maybe('let us'),
      '(?:try|do|write|say|answer|start|explain|run|tell me|think|check|look)',
      '(?: it| that| this| me)? (?:all )?',
      '(?:again|over|once more|once again|differently|another way|a different way|harder)\\b',
    ],
    '\\b(?:never|how do i|thanks again)\\b',
  ),
  rule(
    'again',
    -2,
    [
      start,
      any(
        '(?:again|once (?:more|again)|one more time|the same(?: thing| answer)?|same(?: thing| answer)?)' +
          `(?:${end}| (?:but|in|as|without|only|with|shorter)\\b.*)`,
        `(?:another (?:try|attempt)|from the (?:top|start|beginning))${end}`,
        `(?:(?:you can )?(?:try|do) better|not again)${end}`,
      ),
    ],
    '^(?:thanks|thank you)\\b|^the same(?: thing)?$|^same$',
  ),
  rule(
    'i-asked-for',
    -2,
    [
      start,
      'i ',
      some('already|only|just|specifically|clearly|explicitly|had|have|was|am'),
      any(
        `asked (?:for|you|a|only|not|no|${quest})|asking (?:for|you|${quest})|told you|requested|expected`,
        'meant|mean(?= [a-z])|wanted (?!to\\b)|was looking for|looking for',
        'said (?:no\\b|not\\b|do not|please|without|keep|short|just|in\\b|only|the|that i)',
        'said (?:one|two|three|four|five|\\d)',
      ),
    ],
    '\\bi mean (?:well|business)\\b|\\bexactly\\b|\\bjust what\\b|\\bi am looking for\\b',
  ),
  rule(
    'not-that-but',
    -2,
    [start, '(?:not|no not) (?:that|this|it|the|like|in|what|so)\\b'],
    '\\bnot (?:that|so) (?:bad|i (?:know|mind))\\b|^not (?:the|that) (?:best|worst)',
  ),
  rule('it-should', -2, [
    start,
    '(?:it|that|this|your answer|the answer|you) ',
    '(?:should|ought to|(?:was|were) supposed to|were meant to) ',
    '(?:have|be|not|only|just|start|end|begin|use|fit)\\b',
  ]),
  rule('it-was-said', -2, [
    start,
    '(?:that|this|it) (?:is|was) already (?:in|said|known|what|mentioned|part)\\b',
  ]),
  rule(
    'stop',
    -2,
    [
      start,
      '(?:please )?(?:stop(?: (?:it|that|this))?|cut it out|enough|that is enough|quit it|knock it off)',
      end,
    ],
    '\\bthanks\\b',
  ),
  rule(
    'in-language',
    -2,
    [
      start,
      '(?:in|auf|en) (?:(?:plain|simple) )?',
      '(?:english|german|french|spanish|italian|deutsch|dutch|portuguese|chinese|japanese|my language)',
      end,
    ],
    '\\b(?:now|and|then|also)\\b',
  ),
];
