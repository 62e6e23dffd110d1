/** A piece that is said again and again, with something before and behind it. */
const repeated =
  (piece: string, before = '', behind = '') =>
  (size: number): string =>
    `${before}${piece.repeat(Math.ceil(size / piece.length))}${behind}`;

const marks = Array.from(
  ' \t\n\r"\'`‘’“”„«»「」-–—_*=~#>|<\\/[](){}.,:;!?…@&$%^+0aZß中',
  (mark) => [`runs of ${JSON.stringify(mark)}`, repeated(mark, 'x', 'x')] as const,
);

/** Texts that a pattern with a choice of ways reads in many ways, of any length. */
export const hostileTexts: readonly (readonly [string, (size: number) => string])[] = [
  ...marks,
  ['blank lines', repeated('\n', 'a', 'b')],
  ['lines of spaces', repeated(' \n', 'a', 'b')],
  ['opened quotations', repeated(' ‘')],
  ['opened and closed quotations', repeated('“a” ')],
  ['apostrophes', repeated("a' 'b ")],
  ['quoted lines', repeated('> a\n')],
  ['fences', repeated('```\n', 'a\n')],
  ['opened tags', repeated('<a>', 'b')],
  ['tags never ended', repeated('<a ')],
  ['closed tags', repeated('</a>')],
  ['tags in tags', repeated('<task><a></task>')],
  ['wrappers', repeated('<user_query>', '', '</user_query>')],
  ['bars in a Runtime line', repeated(' | ', 'Runtime: agent=', '\nx')],
  ['Runtime lines', repeated('\nRuntime: agent=a | b', 'x')],
  ['Runtime lines without a bar', repeated('\nRuntime: agent=a')],
  ['dates', repeated('[Sat 2026-11-21 00:26 UTC] ')],
  ['blocks of a channel', repeated('a ⟦openclaw:ctx⟧\n', 'x\n')],
  ['open blocks of a channel', repeated('a ⟦openclaw:ctx⟧\n```json\n{"is_group": ')],
  ['dynamic parts', repeated('<!-- openclaw:attempt:DYNAMIC -->')],
  ['thoughts', repeated('<think>', '', '</think>')],
  ['queued messages', repeated('[Queued user message from a previous active turn')],
  ['titles', repeated('#', '', ' Task: Generate')],
  ['mail headers', repeated('From: a\n', 'x\n')],
  ['salutations', repeated('Hi Bob Bob ')],
  ['reports', repeated('bob said ')],
  ['requests', repeated('please can you ')],
  ['labels', repeated('Bob: a\n', 'x\n')],
  ['tool labels', repeated('tool output (')],
  ['exit codes', repeated('exited with code ')],
  ['paths', repeated('a/b.c ', '', ': no such')],
  ['boxes', repeated('\\ b o x e d ')],
  ['instructions', repeated('[ / ')],
  ['JSON in arrays', repeated('[', '{"a":')],
  ['words of reactions', repeated('so just please not really that is too no lists and ')],
  ['commas', repeated('no, but ')],
  ['one word', repeated('a')],
  ['words', repeated('ab ')],
];
