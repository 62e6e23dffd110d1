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
  const unknown = ids.get('[UNK]')!;
  const pieceAt = (characters: readonly string[], from: number, to: number): number | undefined =>
    ids.get((from === 0 ? '' : INNER) + characters.slice(from, to).join(''));
  const piecesOf = (characters: readonly string[]): readonly number[] => {
    if (characters.length > LONGEST_WORD) return [unknown];
    const found: number[] = [];
    let from = 0;
    while (from < characters.length) {
      let to = characters.length;
      while (to > from && pieceAt(characters, from, to) === undefined) to -= 1;
      if (to === from) return [unknown];
      found.push(pieceAt(characters, from, to)!);
      from = to;
    }
    return found;
  };
  return {
    encode: (text) => (plain(text).match(word) ?? []).flatMap((one) => piecesOf([...one])),
    start: ids.get('[CLS]')!,
    end: ids.get('[SEP]')!,
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
