import { fileURLToPath } from 'node:url';
import { findViolations } from './find-violations.ts';

// Part of `npm run lint`. Fails when an import breaks a rule of rules.ts.

const { files, violations } = await findViolations(fileURLToPath(new URL('../..', import.meta.url)));
for (const { rule, severity, comment, from, to, circle } of violations) {
  const path = [from, ...(circle.length > 0 ? circle : [to])].join(' -> ');
  console.error(`${severity} ${rule}: ${path}${severity === 'error' ? ` (${comment})` : ''}`);
}
const errors = violations.filter(({ severity }) => severity === 'error').length;
console.log(
  `Checked the imports of ${files} files: ${errors} errors, ${violations.length - errors} warnings.`,
);
if (errors > 0) process.exitCode = 1;
