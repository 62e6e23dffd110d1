/** Pieces of a token may stand in the middle of a word only behind this mark. */
const INNER = '##';
/** A longer word is unknown. Characters. */
const LONGEST_WORD = 100;

const control = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\uFFFD]/gu;
const ideograph =
  /[\u4E00-\u9FFF\u3400-\u4DBF\uF900-\uFAFF\u{20000}-\u{2A6DF}\u{2A700}-\u{2B73F}\u{2B740}-\u{2B81F}\u{2B820}-\u{2CEAF}\u{2F800}-\u{2FA1F}]/gu;
/** Words and single marks: Unicode punctuation and every ASCII character that is neither letter nor digit. */
const word = /[\p{P}$+<=>^`|~]|[^\s\p{P}$+<=>^`|~]+/gu;

export type WordPieces = {
  /** Token ids of a text, without the marks at its ends. */
  readonly encode: (text: string) => readonly number[];
  readonly start: number;
  readonly end: number;
};

/**
 * WordPiece as in BERT without case and accents (Devlin et al. 2019): a word is the longest known beginnings, one after
 * the other.
 *
 * @param vocabulary pieces in the order of their ids
 */
export function createWordPieces(vocabulary: readonly string[]): WordPieces {
  const ids = new Map(vocabulary.map((piece, id) => [piece, id]));
  const idOf = (piece: string): number => ids.get(piece) ?? unknown;
  const unknown = ids.get('[UNK]')!;
  const piecesOf = (characters: readonly string[]): readonly number[] => {
    if (characters.length > LONGEST_WORD) return [unknown];
    const found: number[] = [];
    let from = 0;
    while (from < characters.length) {
      let to = characters.length;
      const named = (): string => (from === 0 ? '' : INNER) + characters.slice(from, to).join('');
      while (to > from && !ids.has(named())) to -= 1;
      if (to === from) return [unknown];
      found.push(idOf(named()));
      from = to;
    }
    return found;
  };
  return {
    encode: (text) => (plain(text).match(word) ?? []).flatMap((one) => piecesOf([...one])),
    start: idOf('[CLS]'),
    end: idOf('[SEP]'),
  };
}

const plain = (text: string): string =>
  text
    .replace(/[\t\n\r]/g, ' ')
    .replace(control, '')
    .replace(ideograph, ' $& ')
    .normalize('NFD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase();
