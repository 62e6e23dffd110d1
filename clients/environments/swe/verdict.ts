/** One run of a package's tests. */
export type TestRun = {
  /** ids of the tests that passed */
  readonly passed: ReadonlySet<string>;
  /** ids of the others, with what each said; skipped tests are in neither */
  readonly failed: ReadonlyMap<string, string>;
};

export type Verdict = {
  /** tests that the bug breaks */
  readonly failToPass: readonly string[];
  /** tests that pass with the bug and without it */
  readonly passToPass: readonly string[];
};

/** Tests that pass in every run: the others are flaky, or broken already. */
export const stableTests = (runs: readonly TestRun[]): readonly string[] =>
  [...(runs[0]?.passed ?? [])].filter((id) => runs.every(({ passed }) => passed.has(id)));

/**
 * The effect of a bug on the stable tests. A test whose outcome differs between the runs with the bug is in neither
 * list.
 *
 * @returns undefined when the bug breaks no test or leaves none
 */
export function verdictOf(stable: readonly string[], withBug: readonly TestRun[]): Verdict | undefined {
  const failToPass = stable.filter((id) => withBug.every(({ passed }) => !passed.has(id)));
  const passToPass = stable.filter((id) => withBug.every(({ passed }) => passed.has(id)));
  return failToPass.length === 0 || passToPass.length === 0 ? undefined : { failToPass, passToPass };
}

/** Reads the lines of the reporters: `PASS "id"` or `FAIL "id" "message"`, both JSON strings. */
export function readTestRun(text: string): TestRun {
  const passed = new Set<string>();
  const failed = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [id = '', message = ''] = stringsOf(line.slice(5));
    if (line.startsWith('PASS ')) passed.add(id);
    if (line.startsWith('FAIL ')) failed.set(id, message);
  }
  for (const id of failed.keys()) passed.delete(id);
  return { passed, failed };
}

const stringsOf = (text: string): readonly string[] =>
  (text.match(/"(?:[^"\\]|\\.)*"/g) ?? []).map((quoted) => JSON.parse(quoted) as string);
