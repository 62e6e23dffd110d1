import { any, maybe, type Rule, rule, some } from './rule.ts';
import { article, canYou, end, form, formed, itAgain, start } from './vocabulary.ts';

/** Lists, greetings, emojis and the like: wanted, or not wanted. */
export const formCorrections: readonly Rule[] = [
  rule(
    'no-such-form',
    -2,
    [
      start,
      any('no|zero|not', 'without|minus|less|fewer|not (?:in|as|with)|enough (?:with|of)'),
      ' ',
      article,
      form,
      '\\b',
    ],
    ' (?:at last|this time|today)$|^finally\\b',
  ),
  rule('no-such-form', -2, [
    start,
    canYou,
    maybe('say|give|tell|write|repeat|put|do|explain|answer|show|have'),
    `(?:me )?(?:(?:${itAgain}|again|answer) )+(?:but )?(?:without|with no|with fewer|with less)\\b`,
  ]),
  rule('no-such-form', -2, [
    start,
    canYou,
    '(?:answer|reply|respond|write) (?:me )?(?:without|with no) ',
    article,
    form,
    '\\b',
  ]),
  rule('stop-that', -2, [
    start,
    canYou,
    any(
      'stop|quit|avoid|skip|drop|lose|cut|cut out|leave out|leave off|omit|remove|spare me|forget|ditch',
      'get rid of',
      'enough of|enough with',
    ),
    ' ',
    some('with|using|adding|writing|making|giving me|saying|doing|starting with'),
    article,
    any(
      form,
      `greeting(?: me)?|listing|hello|hi|apologi[sz]ing|repeating|rambling|welcoming|being so|thanking`,
      `(?:it|that|this)${end}`,
      'chatter|politeness|(?:first|last) (?:line|sentence|part)',
    ),
    '\\b',
  ]),
  rule('do-not', -2, [
    start,
    any('(?:you )?(?:do not|never|must not|should not|need not)', `${canYou}(?:not|never)`),
    ' ',
    some('always|ever|even|again|need to|have to|just|please'),
    any(
      any(
        'use|write|give me|make|add|include|put|send|want|do',
        '(?:start|begin|answer|reply) (?:in|with)|format as',
      ) +
        ` ${some('me|everything in|things in|it as')}${article}(?:${form}|(?:that|this)${end}|it like that)`,
      'greet|say (?:hello|hi)|welcome|list (?:things|them|it|everything)|apologi[sz]e|ramble|repeat|be so',
      'lecture',
      '(?:start|begin) (?:every|by|your)|call me|number the',
    ),
    '\\b',
  ]),
  rule('i-dislike', -2, [
    start,
    '(?:i|we) ',
    some('really|still|just|also'),
    '(?:(?:do|did|would|could|can) not|would rather not) ',
    some('really|even|much|particularly|want or'),
    '(?:like|love|want|need|care for|enjoy|appreciate|read|ask for|stand|get|have|see) ?',
    some('to (?:be|read|see|have)|being|getting|reading|seeing'),
    article,
    any(
      `${form}|greeted|lectured|welcomed|how you|when you|the way you|so (?:much|many|long)`,
      `(?:it|that|this|these)${end}`,
      '(?:answer|tone|style|format|response|version|explanation)s?\\b',
    ),
  ]),
  rule('i-dislike', -2, [
    start,
    '(?:i|we) ',
    some('really|just|absolutely'),
    '(?:hate|dislike|can not stand|am sick of|am tired of|detest|loathe) ',
    any(`it|this|that|your|these|those|how|when you|being|getting|reading|${article}${form}`),
    '\\b',
  ]),
  rule(
    'in-such-form',
    -2,
    [
      start,
      canYou,
      some(
        'i (?:want|need|prefer|would prefer|would like|would rather have)|give me|use|write|answer|reply|try',
        'do',
        'it|this|that|them|your answers?|answers?|the same(?: thing)?|once more|again',
      ),
      some('in|as|with|using|into|only|an?|the|just|simple'),
      formed,
      `(?: only| (?:and|but|not|instead|rather|without|with) .*)?${end}`,
    ],
    any(
      '^finally\\b|^[a-z]+$',
      // a thing that is wanted for itself
      '(?:^| )(?:give me|i want|i need|i would like|do|write) (?:an? |the )?(?:lists?|tables?)$',
      '(?:^| )(?:give me|i want|i need|write) (?:an? |the )?(?:essay|text|paragraph|intro(?:duction)?|apology)$',
    ),
  ),
  rule('start-with', -2, [
    start,
    canYou,
    '(?:start|begin|open) (?:directly |right |straight )?with (?:the answer|',
    article,
    maybe('friendly|short|nice'),
    form,
    ')\\b',
  ]),
  rule('form-is-enough', -2, [
    start,
    article,
    maybe('short'),
    formed,
    any(
      ' (?:is|are|would be|would have been) (?:enough|fine|sufficient|better|nicer|nice|plenty)',
      ' will do',
    ),
    end,
  ]),
  rule('no-need', -2, [start, '(?:there is )?no need (?:for|of) ', article, form, '\\b']),
  rule('no-need', -2, [
    start,
    article,
    form,
    ' (?:is|are|was|were) (?:not|un)[ -]?(?:needed|necessary|wanted)\\b',
  ]),
  rule('neither', -2, [start, 'i (?:want|need|like) neither ', article, form, '\\b']),
  rule('want-greeting', -2, [
    start,
    any(`${canYou}(?:greet me|say (?:hello|hi))`, 'i (?:want|would like|like|prefer) to be greeted'),
    end,
  ]),
];
