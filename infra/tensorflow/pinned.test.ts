import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');

test('every downloaded wheel has a hash, and all lists use the same TensorFlow', () => {
  const [, version] = /TENSORFLOW = '([\d.]+)'/.exec(read('setup-native.ts'))!;
  const lists = readdirSync(new URL('wheels', import.meta.url));
  expect(lists.sort()).toEqual(['linux-arm64.txt', 'linux-x64-gpu.txt', 'linux-x64.txt']);
  for (const list of lists) {
    const lines = read(`wheels/${list}`)
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(lines[0], list).toMatch(new RegExp(`^tensorflow(?:-cpu)?==${version} `));
    for (const line of lines) expect(line).toMatch(/^[a-z0-9-]+==[\d.]+ --hash=sha256:[0-9a-f]{64}$/);
  }
});

test('every installed package has an integrity and no address in the lockfile', () => {
  const { packages } = JSON.parse(read('packages/package-lock.json')) as {
    packages: Record<string, { version?: string; integrity?: string; resolved?: string }>;
  };
  const [, version] = /TFJS_NODE = '([\d.]+)'/.exec(read('setup-native.ts'))!;
  expect(packages['node_modules/@tensorflow/tfjs-node']?.version).toBe(version);
  for (const [name, { integrity, resolved }] of Object.entries(packages)) {
    if (name !== '') expect(integrity, name).toMatch(/^sha512-/);
    expect(resolved, name).toBeUndefined();
  }
});

test('only packages with prebuilt binaries have an install script', () => {
  const { packages } = JSON.parse(read('../../package-lock.json')) as {
    packages: Record<string, { hasInstallScript?: boolean }>;
  };
  const scripted = Object.entries(packages).filter(([, { hasInstallScript }]) => hasInstallScript);
  const names = scripted.map(([name]) => name.split('node_modules/').at(-1));
  expect(names).toEqual(['@swc/core', 'msgpackr-extract']);
});

test('package.json names the packages of the native backend as optional, in the version of the set-up', () => {
  const { peerDependencies, peerDependenciesMeta } = JSON.parse(read('../../package.json')) as {
    peerDependencies: Record<string, string>;
    peerDependenciesMeta: Record<string, { optional?: boolean }>;
  };
  const [, version] = /TFJS_NODE = '([\d.]+)'/.exec(read('setup-native.ts'))!;
  const names = ['@tensorflow/tfjs-node', '@tensorflow/tfjs-node-gpu'];
  expect(peerDependencies).toEqual(Object.fromEntries(names.map((name) => [name, version])));
  expect(peerDependenciesMeta).toEqual(Object.fromEntries(names.map((name) => [name, { optional: true }])));
  const { packages } = JSON.parse(read('../../package-lock.json')) as { packages: Record<string, unknown> };
  for (const name of names) expect(packages[`node_modules/${name}`], name).toBeUndefined();
});
