/** Maximum characters that are read of a message. */
const READ_LIMIT = 1000;

const agent = 'assistant|agent|sub-?agent|model|bot|expert|reviewer|judge|classifier|grader|summari[sz]er';

/** Phrases that programs write to a model and people hardly ever write to their assistant. */
const cues: readonly RegExp[] = [
  /^\s*[[{<［〔]/,
  /^\s*(?:system|context|important|caveat|reminder|heartbeat|webhook|notification|event|task|instructions?)\s?:/i,
  new RegExp(`\\byou are (?:an?|the) (?:[\\w-]+ ){0,3}(?:${agent})s?\\b`, 'i'),
  /^\s*(?:your (?:task|job|role) is|act as|you (?:will be|are) given|you must not|given the (?:conversation|following))\b/i,
  /\bthe user(?:'s)?\b|\buser (?:has|have) (?:approved|rejected|not)\b/i,
  /\b(?:sub-?agents?|heartbeat|compaction|cron ?jobs?|webhooks?|hooks?|plan mode|token limit|context window|payload|stderr|stdout|traceback)\b/i,
  /\btool (?:use|calls?|results?|outputs?|was|has|recently)\b|\btodo (?:list|tool)\b|\bnon-?(?:readonly|interactive)\b|\bexit code\b|\bbackground task\b/i,
  /^\s*(?:called|result of calling) the [\w-]+ tool\b/i,
  /\b(?:this|a new|the) session (?:is|was|has|will)\b|\b(?:previous|following|preceding) (?:conversation|response|transcript|messages?)\b|\bconversation so far\b/i,
  /\b(?:valid )?JSON (?:object|schema|only|array)\b|\bvalid JSON\b|\brespond (?:only )?with\b|\breply (?:only )?with\b/i,
  /\byou are working (?:in|on) (?:the|a|this) (?:repository|codebase|project)\b|\byour (?:final|last) (?:message|answer|report) (?:is|will be)\b/i,
  /\b[A-Z]{2,}(?:_[A-Z0-9]{2,})+\b|\b[A-Z]{4,}\.md\b/,
  /\bprevious (?:response|attempt|model attempt|run|turn) (?:was|failed|got|timed)\b/i,
];

/**
 * Whether a program seems to have written this: then it is no verdict of a person. A false alarm costs one
 * unjudged turn.
 */
export const isOfMachine = (words: string): boolean => {
  const start = words.slice(0, READ_LIMIT);
  return cues.some((cue) => cue.test(start));
};

/** Whether a text contains an edit block as agents write it. People do not send those with their opinion. */
export const holdsEditBlock = (text: string): boolean =>
  /^\s*<{5,} ?SEARCH\b/m.test(text.slice(0, READ_LIMIT));

/** Whether a text opens with a label such as "【系统提示】". A person's own words lack it, because 【】 are quotes there. */
export const opensWithLabel = (text: string): boolean => /^\s*【[^】\n]{1,40}】/.test(text);
