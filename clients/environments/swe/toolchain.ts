import type { Edit } from './edit.ts';
import type { Workbench } from './workbench.ts';

/** How packages of one language are tested and changed. */
export type Toolchain = {
  readonly language: 'python' | 'javascript';
  /** lines of the Dockerfile before the source is copied */
  readonly image: string;
  /** command that runs the tests in the package's folder, for people and agents */
  readonly testCommand: string;
  /** files of the folder `runner` that run the tests and write the outcomes; `run.sh` is one of them */
  readonly runner: readonly string[];
  /** names of the files that define the tests: `*` stands for any characters */
  readonly testFiles: readonly string[];
  readonly testFolders: readonly string[];
  /** whether a file that is no test is part of the program */
  readonly isSource: (path: string) => boolean;
  /** The folder or file that a source file belongs to. An agent may change everything in it. */
  readonly rootOf: (path: string, files: ReadonlySet<string>) => string;
  /** Why the package cannot be tested; undefined: nothing speaks against it. */
  readonly whyNot: (read: (path: string) => Promise<string | undefined>) => Promise<string | undefined>;
  /** Every change that this toolchain knows. @param texts by path */
  readonly findEdits: (texts: ReadonlyMap<string, string>, workbench: Workbench) => Promise<readonly Edit[]>;
};

/** Whether a file belongs to the tests. The tests are restored before an attempt is graded. */
export function isTestFile({ testFiles, testFolders }: Toolchain, path: string): boolean {
  const segments = path.split('/');
  const name = segments.pop()!;
  return (
    segments.some((segment) => testFolders.includes(segment)) ||
    testFiles.some((pattern) => globPattern(pattern).test(name))
  );
}

/** The same as an expression of `find`. */
export const findExpression = ({ testFiles, testFolders }: Toolchain): string =>
  [
    ...testFolders.map((name) => `\\( -type d -name '${name}' \\)`),
    ...testFiles.map((pattern) => `\\( ! -type d -name '${pattern}' \\)`),
  ].join(' -o ');

const globPattern = (pattern: string): RegExp =>
  new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '.*')}$`);
