/** A promise that an agent left behind must not end the attempts of the others: counted instead. */
export function watchStrayErrors() {
  let count = 0;
  let last = '';
  const on = (error: unknown) => {
    count++;
    last = error instanceof Error ? error.message : String(error);
  };
  process.on('unhandledRejection', on);
  return {
    count: () => count,
    last: () => last,
    close: () => void process.off('unhandledRejection', on),
  };
}
