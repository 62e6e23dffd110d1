/** Which tokens may come next in an answer that cannot be just anything. */
export type TokenGuard = {
  readonly accepts: (id: number) => boolean;
  /** Goes on with a token that was accepted. */
  readonly take: (id: number) => void;
  /** Sets the logits of all that it does not accept to -Infinity. */
  readonly keepOut: (logits: Float32Array) => void;
  /** The answer is whole, and nothing can be added to it. */
  readonly isOver: () => boolean;
};
