import { expect, test } from 'vitest';
import { whyRefused } from './refusals.ts';
import { readTaskFile } from './task-file.ts';
import { resolveVariables } from './variables.ts';

const read = (text: string) => readTaskFile(text, 'task.toml');

test('both schemas are read, and unknown fields are left alone', () => {
  const old = read(
    'version = "1.0"\n[environment]\nmemory = "2G"\nstorage = "512M"\nallow_internet = false\n',
  );
  expect(old.environment).toMatchObject({ memory: 2048, storage: 512, allow_internet: false });
  const file = read(`
    schema_version = "1.4"
    artifacts = ["/app/out", { source = "/app/more" }]
    future = 1
    [agent]
    user = 1000
    [verifier]
    environment_mode = "separate"
    [[steps]]
    name = "one"
    min_reward = 0.5
  `);
  expect(file).toMatchObject({
    agent: { user: '1000' },
    verifier: { environment_mode: 'separate', collect: [], env: {} },
    artifacts: [{ source: '/app/out' }, { source: '/app/more' }],
    steps: [{ name: 'one', min_reward: 0.5 }],
  });
});

test('a file of another form is a usage error that names the place', () => {
  expect(() => read('[agent\n')).toThrow(/task.toml:1 is not TOML/);
  expect(() => read('[agent]\ntimeout_sec = "long"')).toThrow(/agent.timeout_sec/);
  expect(() => read('[environment]\nmemory = "much"')).toThrow(/2G or 512M/);
  expect(() => read('[[steps]]\nname = "../x"')).toThrow(/steps\[0\].name/);
});

const dockerfile = (path: string): boolean => path === 'environment/Dockerfile';
const refused = (text: string, { withNetwork = false, has = dockerfile } = {}) =>
  whyRefused(read(text), { withNetwork, has });

test.each([
  ['', () => false, /neither environment\/Dockerfile/],
  ['', (path: string) => path === 'environment/docker-compose.yaml', /several containers/],
  ['[environment]\nos = "windows"', dockerfile, /another system/],
  ['[environment]\ngpus = 1', dockerfile, /an accelerator/],
  ['[[environment.mcp_servers]]\nname = "db"', dockerfile, /MCP servers/],
  ['artifacts = ["../x"]', dockerfile, /absolute path/],
  ['artifacts = ["/app/../tests"]', dockerfile, /absolute path/],
  ['artifacts = [{ source = "/a", service = "db" }]', dockerfile, /another container/],
  ['[environment]\nnetwork_mode = "allowlist"', dockerfile, /allowed hosts/],
  ['[environment]\nallow_internet = true', dockerfile, /--network/],
  ['[verifier]\nnetwork_mode = "public"', dockerfile, /--network/],
])('%j is refused', (text, has, reason) => {
  expect(refused(text, { has })).toMatch(reason);
});

test('a task gets no network unless it asks and the user agrees', () => {
  expect(refused('')).toBeUndefined();
  expect(refused('[environment]\nnetwork_mode = "no-network"')).toBeUndefined();
  const asks = '[environment]\nnetwork_mode = "public"';
  expect(refused(asks, { withNetwork: true })).toBeUndefined();
  expect(refused(`${asks}\n[agent]\nnetwork_mode = "no-network"`, { withNetwork: true })).toMatch(
    /between phases/,
  );
});

/** `$` and a name in braces, as task files write it */
const variable = (inner: string) => `$\{${inner}}`;

test('variables come from this machine, or from their defaults', () => {
  const here = { TOKEN: 'secret' };
  const table = { A: 'plain', B: variable('TOKEN'), C: variable('NONE:-x'), D: variable('NONE:-') };
  expect(resolveVariables(table, here)).toEqual({ A: 'plain', B: 'secret', C: 'x', D: '' });
  expect(() => resolveVariables({ A: variable('NONE') }, here)).toThrow(/NONE/);
});
