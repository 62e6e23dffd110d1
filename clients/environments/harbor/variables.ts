import { UsageError } from '../../../shared/runtime/command-errors.ts';

/**
 * Variables of a task file with `${NAME}` and `${NAME:-default}` replaced from this machine's environment.
 *
 * @throws UsageError naming a variable that is not set here
 */
export function resolveVariables(
  table: Readonly<Record<string, string>>,
  here: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(table).map(([name, text]) => {
      const [, source, fallback] = /^\$\{([A-Za-z_]\w*)(?::-(.*))?\}$/s.exec(text) ?? [];
      if (source === undefined) return [name, text];
      const value = here[source] ?? fallback;
      if (value === undefined) throw new UsageError(`the task needs the environment variable ${source}`);
      return [name, value];
    }),
  );
}
