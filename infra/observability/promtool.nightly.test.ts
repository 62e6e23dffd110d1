import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const here = fileURLToPath(new URL('.', import.meta.url));
const promtool = (...argv: readonly string[]) => spawnSync('promtool', argv, { cwd: here, encoding: 'utf8' });
const isMissing = promtool('--version').error !== undefined;

// Debian's package `prometheus` has promtool, and starts a server: so CI does not install it.
describe.skipIf(isMissing)(`Prometheus's own check${isMissing ? ' (no promtool)' : ''}`, () => {
  test.each([
    ['check', 'rules', 'alert-rules.yml'],
    ['check', 'config', 'prometheus.yml'],
    ['test', 'rules', 'alert-rules.test.yml'],
  ])('promtool %s %s %s', (...argv) => {
    const { status, stdout, stderr } = promtool(...argv);
    expect(status, stdout + stderr).toBe(0);
  });
});
