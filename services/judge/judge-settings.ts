export type JudgeSettings = {
  /** votes per turn; a turn keeps the number that it was opened with */
  readonly votes: number;
  /** hint votes per turn; default 0 */
  readonly hintVotes?: number;
  /** Later evidence revises a judgment. Absent: it does not, as in logs of older versions. */
  readonly revises?: boolean;
  /** A closed session sweeps settled turns, too. Absent: only the next settled turn does, as in logs of older versions. */
  readonly sweepsAtClose?: boolean;
  /** Words after a thumb up give no hint. Absent: they may, as in logs of older versions. */
  readonly likedGivesNoHint?: boolean;
  /**
   * A thumb up drops the hints that came before it; one that agrees with the judgment brings only its new hints. Absent:
   * neither, as in logs of older versions.
   */
  readonly thumbsSettle?: boolean;
  /**
   * A wish stated after a thumb, or in the comment of a later thumb, clears an inferred opposite. Absent: only words that settle their turn do, as in
   * logs of older versions.
   */
  readonly laterWishesClear?: boolean;
  /** absolute score of a verdict that rests only on what a person did; default 0: no such verdict */
  readonly weakVerdict?: number;
};
