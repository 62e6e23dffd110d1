/** Kinds of requests that a program makes for its own purposes, beside the conversation. */
export type HelperKind = 'compaction' | 'title' | 'next-speaker' | 'probe' | 'helper';

type HelperPrompt = {
  readonly kind: HelperKind;
  readonly client: string;
  /** how its system text begins; absent: any */
  readonly system?: RegExp;
  /** how the latest user message begins; absent: any */
  readonly words?: RegExp;
};

/**
 * First match wins. Each pattern is applied to the first 2,000 characters, at the start of the text or of a
 * line.
 */
export const helperPrompts: readonly HelperPrompt[] = [
  {
    kind: 'compaction',
    client: 'Codex',
    words: /^You are performing a CONTEXT CHECKPOINT COMPACTION/,
  },
  {
    kind: 'compaction',
    client: 'Claude Code',
    words: /^CRITICAL: Respond with TEXT ONLY\. Do NOT call any tools\./,
  },
  {
    kind: 'compaction',
    client: 'Claude Code, Cline',
    words: /^Your task is to create a (?:comprehensive )?detailed summary of (?:the|this|our) conversation/,
  },
  {
    kind: 'compaction',
    client: 'opencode, Crush, Kilo',
    system:
      /^You are (?:a context summarization|a helpful AI assistant tasked with summari[sz]ing|summari[sz]ing a|an anchored context)/m,
  },
  {
    kind: 'compaction',
    client: 'opencode, Kilo',
    words: /^Here is the conversation so far:\s+<conversation>/,
  },
  {
    kind: 'compaction',
    client: 'Continue',
    words: /^Please provide a concise summary of our conversation so far, capturing the key context/,
  },
  {
    kind: 'compaction',
    client: 'Qwen Code',
    words: /^You are the component that summarizes (?:a conversation|internal chat history)/,
  },
  {
    kind: 'helper',
    client: 'Qwen Code',
    system: /^You are now acting as the managed memory extraction subagent/,
  },
  { kind: 'title', client: 'Claude Code', system: /^You are naming a coding session/m },
  {
    kind: 'compaction',
    client: 'opencode',
    words: /^Provide a detailed (?:prompt|summary) for continuing our conversation/,
  },
  {
    kind: 'compaction',
    client: 'Qwen Code, Gemini CLI',
    system:
      /^You are (?:the component|a specialized system component) (?:that|responsible for) (?:summarizes|distilling)/,
  },
  {
    kind: 'compaction',
    client: 'Qwen Code, Gemini CLI',
    words: /^First, reason in your (?:scratchpad|<analysis> block)\./,
  },
  {
    kind: 'compaction',
    client: 'aider',
    system: /^\*?Briefly\*? summarize this partial conversation about programming/,
  },
  { kind: 'compaction', client: 'Zed', words: /^Generate a detailed summary of this conversation/ },
  { kind: 'compaction', client: 'Goose', system: /^## Task Context\n- An llm context limit was reached/ },
  { kind: 'title', client: 'opencode, Kilo', system: /^You are a title generator\b/m },
  { kind: 'title', client: 'opencode', words: /^Generate a title for this conversation:/ },
  { kind: 'title', client: 'Crush', system: /^you will generate a short title based on the first message/i },
  {
    kind: 'title',
    client: 'Claude Code',
    system:
      /^(?:Analyze if this message indicates a new conversation topic|Generate a (?:concise|short)[^\n]{0,80}title|Summarize this coding conversation in under)/m,
  },
  {
    kind: 'title',
    client: 'Claude Code',
    words: /^Please write a \d+-\d+ word title for the following conversation/,
  },
  { kind: 'title', client: 'Zed', words: /^Generate a concise \d+-\d+ word title for this conversation/ },
  {
    kind: 'title',
    client: 'Continue',
    words: /^Given the following[^\n]{0,120}please reply with a title for the chat/,
  },
  {
    kind: 'title',
    client: 'Goose',
    words: /^Based on the conversation so far, provide a concise description of this session/,
  },
  {
    kind: 'next-speaker',
    client: 'Gemini CLI, Qwen Code',
    words: /^Analyze \*only\* the content and structure of your immediately preceding response/,
  },
  { kind: 'probe', client: 'Claude Code', words: /^(?:quota|Warmup)$/ },
  { kind: 'helper', client: 'Claude Code', words: /^\[SUGGESTION MODE:/ },
  {
    kind: 'helper',
    client: 'Claude Code',
    system: /^(?:Your task is to process Bash commands|Extract any file paths that this command reads)/m,
  },
  {
    kind: 'title',
    client: 'LibreChat, Chatbox, Cherry Studio',
    words:
      /^(?:Please generate a concise title \(max|Based on the chat history, give this conversation a name|Summarize the conversation into a title)/,
  },
  {
    kind: 'compaction',
    client: 'Copilot Chat, LibreChat, Amp',
    words:
      /^(?:Summarize the conversation (?:history so far, paying|by integrating new lines)|Use the thread above to write a message to yourself)/,
  },
  {
    kind: 'helper',
    client: 'Codex',
    words: /^(?:The following is the Codex agent history|Review the code changes against the base branch ')/,
  },
  {
    kind: 'helper',
    client: 'Qwen Code',
    words: /^(?:Managed memory has TWO directories|You are reviewing this conversation to extract)/,
  },
  {
    kind: 'helper',
    client: 'Kilo, Roo Code, Cline',
    words:
      /^(?:Generate an enhanced version of this prompt \(reply with only|Based on the following git diff, generate a concise and descriptive commit message:)/,
  },
  { kind: 'helper', client: 'Zed', words: /^You are an expert at writing Git commits\./ },
  { kind: 'helper', client: 'Open WebUI', words: /^Your task is to reflect the speaker's likely facial/ },
  {
    kind: 'helper',
    client: 'aider',
    system: /^You are an expert software engineer that generates concise, one-line Git commit messages/,
  },
];

/** Characters of a text that are examined. */
const LOOK_AT = 2000;
/** Characters; people rarely write this much to ask for a summary, a title or a name. */
const LONG = 100;
/** The subject of such instructions. */
const ofHistory =
  /\b(?:conversation|chat|session|dialogu?e|exchange|transcript|discussion|history|context window|interaction|thread|turns)s?\b/i;
/** The result that such instructions ask for. */
const wanted =
  /\b(?:titles?|names?|labels?|tags|emoji|summar(?:y|ies|i[sz]e|i[sz]ing)|r[ée]sum[ée]e?|compact(?:ed|ion)?|condens(?:e|ed|ing)|digest|hand-?(?:off|over)|checkpoint|recap|next speaker|follow-up (?:questions|queries)|search (?:query|engine)|new topic|preferences)\b/i;
/** Phrases that are typical of instructions to a model. */
const instructs =
  /\b(?:respond|reply|output|return|answer|emit) (?:with|only|in|one|the|using|exactly)\b|\bonly (?:output|return|respond|reply|the title|a? ?json)\b|\bnothing (?:else|besides)\b|\bdo not (?:include|use|call|add|answer|respond|ask|mention|execute)\b|\byou (?:are (?:an?|the) \w|must|will be given|should (?:only|include|preserve))|\bjson\b|^#+ |\bformat:|<\/?[a-z_]+>|\bthe user(?:'s)?\b|\b(?:must|should) (?:include|be|preserve|contain|capture)\b|\bno (?:quotes|punctuation|markdown)\b|\bwithout punctuation\b|\b(?:max(?:imum)?|within|at most) (?:of )?(?:\d+|\w+) (?:words|characters|chars)\b|^[A-Z][A-Za-z ]{2,20}:$/gim;
const FEWEST_SIGNS = 2;

/**
 * The kind of a program's request, by its texts; undefined: not recognised. A request that is not in the table
 * counts as `helper` if a long instruction asks for a title, a summary or the like of the conversation itself.
 * @param systemText of the request
 * @param words of the latest user message
 */
export function helperKind(systemText: string, words: string): HelperKind | undefined {
  const [system, latest] = [systemText.trimStart().slice(0, LOOK_AT), words.slice(0, LOOK_AT)];
  const known = helperPrompts.find(
    (prompt) =>
      (prompt.system === undefined || prompt.system.test(system)) &&
      (prompt.words === undefined || prompt.words.test(latest)),
  );
  if (known !== undefined) return known.kind;
  return isInstruction(latest) ? 'helper' : undefined;
}

function isInstruction(text: string): boolean {
  // A quoted instruction is not one.
  const words = text.replace(/"[^"\n]{0,200}"|`[^`\n]{0,200}`/g, ' ');
  if (words.length < LONG || !wanted.test(words) || !ofHistory.test(words)) return false;
  const signs = words.match(instructs) ?? [];
  return new Set(signs.map((sign) => sign.toLowerCase())).size >= FEWEST_SIGNS;
}
