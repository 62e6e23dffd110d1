/** Counts unhandled rejections, so that one left behind by an agent does not end the other attempts. */
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
