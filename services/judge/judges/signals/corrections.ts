import { type Rule, rule } from './rule.ts';
import { ask, change, degree, end, excess, form, formed, itIs, lead } from './vocabulary.ts';

/** The person wants it otherwise: a wish to change the answer is a verdict on it. */
export const corrections: readonly Rule[] = [
  rule(
    'no-such-form',
    -2,
    `^${lead}(?:no|zero|not?) (?:more |another |such |unnecessary |an? )?${form}(?: and no| or| and)?\\b`,
  ),
  rule(
    'no-such-form',
    -2,
    `^${lead}(?:without|minus|less|fewer|not (?:in|as|with)|enough (?:with|of)) (?:all |any |an? |the |these |those |your |that |this |such |so many )*${form}\\b`,
  ),
  rule(
    'no-such-form',
    -2,
    `^${lead}(?:(?:can|could|would) you |i want |i need |i would like )?(?:please )?(?:say|give|tell|write|repeat|have|put|do|explain|answer|show)?(?: me)? ?(?:it|that|this|the same(?: thing)?|again|answer)(?: again)? (?:but )?(?:without|with no|with fewer|with less)\\b`,
  ),
  rule(
    'stop-that',
    -2,
    `^${lead}(?:(?:can|could|would|will) you (?:please )?)?(?:please )?(?:stop|quit|avoid|skip|drop|lose|cut|cut out|leave out|leave off|omit|remove|spare me|forget|ditch|get rid of|enough of|enough with) (?:with |using |adding |writing |making |giving me |all |any |the |these |those |that |your |an? |so many |saying |doing )*(?:${form}|greeting(?: me)?|listing|hello|hi|apologi[sz]ing|repeating|rambling|it${end}|that${end}|this${end}|chatter|politeness|first (?:line|sentence|part)|last (?:line|sentence|part)|welcoming|being so|thanking|asking)`,
  ),
  rule(
    'do-not',
    -2,
    `^${lead}(?:you )?(?:do not|never|must not|should not|need not|do not (?:need|have) to|can you not|please not) (?:always |ever |even |again |need to |have to |just )*(?:(?:use|write|give me|make|add|include|put|send|start with|begin with|answer (?:in|with)|reply (?:in|with)|format as|want|do) (?:me |so many |so much |any |an? |the |these |those |more |such |all |everything in |things in |it as |your )*(?:${form}|that${end}|this${end}|it like that)|greet|say (?:hello|hi)|welcome|list (?:things|them|it|everything)|apologi[sz]e|ramble|repeat|be so|lecture|start every|begin every|start (?:by|your)|call me|number)\\b`,
  ),
  rule(
    'i-dislike',
    -2,
    `^${lead}(?:i|we) (?:really |still |just |also )*(?:do|did|would|could|can) not (?:really |even |much |particularly |want or )*(?:like|love|want|need|care for|enjoy|appreciate|read|ask for|stand)(?: to (?:be|read|see|have))? ?(?:any |an? |the |all |your |these |those |this |that |such |so many |more |being |to be |getting |reading |seeing )*(?:${form}|greeted|how you|when you|the way you|it${end}|that${end}|this${end}|(?:answer|tone|style|format|response|version|explanation)s?\\b|so (?:much|many|long)|lectured|welcomed|talked)`,
  ),
  rule(
    'i-dislike',
    -2,
    `^${lead}(?:i|we) (?:really |just |absolutely )*(?:hate|dislike|can not stand|am sick of|am tired of|detest|loathe) (?:it|this|that|your|these|those|how|when|being|the|all|getting|reading|${form})\\b`,
  ),
  rule(
    'too-much',
    -2,
    `^${lead}${itIs}?${degree}(?:too|way too|a bit too|far too|much too|overly|unnecessarily|needlessly) ${excess}\\b`,
    '\\bnot too\\b|\\b(?:what|how|if)\\b',
  ),
  rule(
    'too-much',
    -2,
    `^${lead}${itIs}(?:a bit|a little|rather|quite|so|very|kind of|pretty|awfully) (?:long|wordy|verbose|vague|complicated|generic|stiff|long-winded|chatty|confusing|dry)\\b`,
    '\\bnot\\b',
  ),
  rule(
    'change-it',
    -2,
    `^${lead}${ask}*(?:a |an |the |it |in |even |much |a bit |a lot |a little |still |way |far |be |something |make it |keep it |write )*${change}(?: (?:answers?|version|one|response|reply|sentences|words|way|form|please|next time|about (?:it|that|this)))*${end}`,
    '\\bnot\\b',
  ),
  rule(
    'rework',
    -2,
    `^${lead}(?:(?:can|could|would|will) you (?:please )?)?(?:please )?(?:shorten|simplify|condense|trim|tighten|redo|retry|rephrase|reword|revise|rewrite|correct|fix|reformat|regenerate|clean up|expand) (?:it|that|this|your|the (?:answer|text|list|last|response|reply|whole)|them)\\b`,
  ),
  rule(
    'rework',
    -2,
    `^${lead}(?:(?:can|could|would|will) you (?:please )?)?(?:please )?(?:give|write|put|format|say|do|make|turn|convert|phrase|show|return|present|send|answer|reply|explain|respond|try)(?: me)?(?: (?:it|that|this|them|the (?:same|answer|list)))? ?(?:again |instead |all )*(?:as|in|into|with|using) (?:an? |the |just |only |simple )*${formed}\\b`,
    '\\b(?:how|story|essay about|poem)\\b',
  ),
  rule(
    'in-such-form',
    -2,
    `^${lead}(?:(?:i want|i need|i prefer|i would prefer|i would like|i would rather have|give me|use|only|with|using|as|in|try) )+(?:it |this |that |them |your answers? |answers? )?(?:in |as |with |using )?(?:an? |the |just |only |simple )*${formed}${end}`,
    '^(?:give me|i want|i need|i would like) an? (?:list|table|summary)$',
  ),
  rule(
    'just-answer',
    -2,
    `^${lead}(?:(?:can|could|would|will) you (?:please )?|i (?:only |just )?(?:want|need|wanted|needed) (?:you to )?)?(?:please )?(?:just|only|simply|straight|directly) (?:give me |tell me |to )?(?:answer|the (?:answer|facts?|result|number|code|word|name)|reply|get to|the point)\\b`,
  ),
  rule(
    'get-to-the-point',
    -2,
    `^${lead}(?:please )?(?:(?:get|come|go|stick|cut) (?:straight |right )?to the (?:point|chase|answer|facts)|answer (?:the|my) question|answer (?:directly|me)|read (?:it|that|my \\w+|what i) (?:again|wrote|properly|carefully)|pay attention|focus|listen to me|follow (?:my|the) instructions?)\\b`,
    '\\bhow (?:do|can|to)\\b',
  ),
  rule(
    'try-again',
    -2,
    `^${lead}(?:(?:can|could|would|will) you (?:please )?|you (?:should|must|need to|have to) |let us )?(?:please )?(?:try|do|write|say|answer|start|explain|run|tell me|think|do it|try it|check|look)(?: it| that| this| me)? (?:all )?(?:again|over|once more|once again|differently|another way|a different way|harder)\\b`,
    '\\b(?:never|how do i|thanks again)\\b',
  ),
  rule(
    'again',
    -2,
    `^${lead}(?:again|once (?:more|again)|one more time|another (?:try|attempt)|from the (?:top|start|beginning)|same again|try better|do better|you can do better|not again)${end}`,
    '^(?:thanks|thank you) again',
  ),
  rule(
    'i-asked-for',
    -2,
    `^${lead}i (?:already |only |just |specifically |clearly |explicitly |had |have |was |am )*(?:asked (?:for|you|about|how|what|why|when|where|who|which|whether|if|a|only|not|no)|asking (?:for|you|about|how|what|why|when|where|who|which|whether|if)|told you|requested|meant|mean(?= [a-z])|said (?:no\\b|not\\b|do not|please|without|keep|short|just|in\\b|only|one|two|three|four|five|\\d|the|that i)|wanted (?!to\\b)|expected|was looking for|looking for)`,
    '\\bi mean (?:well|business)\\b|\\bexactly\\b|\\bjust what\\b|^i am looking for\\b',
  ),
  rule(
    'not-that-but',
    -2,
    `^${lead}(?:not|no not) (?:that|this|it|the|like|in|what|so)\\b`,
    '\\bnot (?:that|so) (?:bad|i (?:know|mind))\\b|^not (?:the|that) (?:best|worst)',
  ),
  rule(
    'it-should',
    -2,
    `^${lead}(?:it|that|this|your answer|the answer|you) (?:should|ought to|was supposed to|were supposed to|were meant to) (?:have |be |not |only |just )`,
  ),
  rule(
    'stop',
    -2,
    `^${lead}(?:please )?(?:stop (?:it|that|this)?|cut it out|enough|that is enough|quit it|knock it off)${end}`,
    '\\bthanks\\b',
  ),
  rule(
    'in-language',
    -2,
    `^${lead}(?:in|auf|en) (?:english|german|french|spanish|italian|deutsch|dutch|portuguese|chinese|japanese|plain english|simple english|my language)${end}`,
  ),
];
