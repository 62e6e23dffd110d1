import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cruise } from 'dependency-cruiser';
import { rules } from './rules.ts';

export type Violation = {
  readonly rule: string;
  readonly severity: string;
  /** what the rule says */
  readonly comment: string;
  readonly from: string;
  readonly to: string;
  /** the files of a circle, from `to` back to `from` */
  readonly circle: readonly string[];
};

const folders = ['services', 'shared', 'clients', 'infra', 'test', 'examples'];

/**
 * Checks every import below `root` against the rules, type imports included. swc parses the files, since
 * TypeScript 7 has no API for JavaScript.
 */
export async function findViolations(
  root: string,
): Promise<{ readonly files: number; readonly violations: readonly Violation[] }> {
  const { output } = await cruise(
    folders.filter((folder) => existsSync(join(root, folder))),
    {
      baseDir: root,
      parser: 'swc',
      tsPreCompilationDeps: true, // type imports count
      doNotFollow: { path: 'node_modules' },
      exclude: { path: '^test/fixtures/' },
      validate: true,
      ruleSet: { forbidden: rules },
      enhancedResolveOptions: {
        exportsFields: ['exports'],
        conditionNames: ['types', 'import', 'node', 'default'],
      },
    },
  );
  if (typeof output === 'string') throw new Error(`the check returned no result: ${output}`);
  const { violations, totalCruised } = output.summary;
  const comments = new Map(rules.map(({ name, comment = '' }) => [name, comment]));
  return {
    files: totalCruised,
    violations: violations.map(({ rule, from, to, cycle = [] }) => ({
      rule: rule.name,
      severity: rule.severity,
      comment: comments.get(rule.name) ?? '',
      from,
      to,
      circle: cycle.map(({ name }) => name),
    })),
  };
}
