/** Whether the server can be reached: told by one question after another. */
export type UpstreamHealth = {
  /** Why not; undefined: it can, or was not asked yet. */
  readonly problem: () => string | undefined;
  readonly close: () => void;
};

type Options = {
  /** Rejects with the reason why it is not well. */
  readonly check: () => Promise<void>;
  readonly everyMs: number;
  /** It answers again. */
  readonly onRecovery: () => void;
  readonly onChange: (problem: string | undefined) => void;
};

export function watchHealth({ check, everyMs, onRecovery, onChange }: Options): UpstreamHealth {
  let problem: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  const look = async (): Promise<void> => {
    const before = problem;
    problem = await check().then(
      () => undefined,
      (error: Error) => error.message || String(error),
    );
    if (isClosed) return;
    if ((before === undefined) !== (problem === undefined)) onChange(problem);
    if (before !== undefined && problem === undefined) onRecovery();
    timer = setTimeout(look, everyMs).unref();
  };
  void look();
  return {
    problem: () => problem,
    close: () => {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
