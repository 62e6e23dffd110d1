/** Bounds of PPO's objective, see binaryLoss. */
type SurrogateBounds = {
  readonly clipLow: number;
  readonly clipHigh: number;
  readonly dualClip: number | undefined;
};

/** The clipped objective of one token, to be maximised, and its derivative by the log of the ratio. */
export function surrogate(
  ratio: number,
  advantage: number,
  { clipLow, clipHigh, dualClip }: SurrogateBounds,
) {
  const plain = ratio * advantage;
  const bounded = Math.min(Math.max(ratio, 1 - clipLow), 1 + clipHigh) * advantage;
  const clipped = bounded < plain;
  const value = clipped ? bounded : plain;
  const least = dualClip === undefined || advantage >= 0 ? Number.NEGATIVE_INFINITY : dualClip * advantage;
  const dualClipped = value < least;
  return {
    value: dualClipped ? least : value,
    slope: clipped || dualClipped ? 0 : plain,
    clipped,
    dualClipped,
  };
}
