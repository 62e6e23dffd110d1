/** Checks at intervals whether the server is available. */
type UpstreamHealth = {
  /** Why the server is unavailable; undefined if it is available or not checked yet. */
  readonly problem: () => string | undefined;
  readonly close: () => void;
};

type Options = {
  /** Rejects with the reason if the server is unavailable. */
  readonly check: () => Promise<void>;
  readonly everyMs: number;
  /** The server is available again. */
  readonly onRecovery: () => void;
  readonly onChange: (problem: string | undefined) => void;
};

export function watchHealth({ check, everyMs, onRecovery, onChange }: Options): UpstreamHealth {
  let problem: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  const checkOnce = async (): Promise<void> => {
    const before = problem;
    problem = await check().then(
      () => undefined,
      (error: Error) => error.message || String(error),
    );
    if (isClosed) return;
    if ((before === undefined) !== (problem === undefined)) onChange(problem);
    if (before !== undefined && problem === undefined) onRecovery();
    timer = setTimeout(checkOnce, everyMs).unref();
  };
  void checkOnce();
  return {
    problem: () => problem,
    close: () => {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
