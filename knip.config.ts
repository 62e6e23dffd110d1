import type { KnipConfig } from 'knip';

// Part of `npm run lint`. With --production knip leaves the tests out: what it reports then, only tests use. An export
// that its own file uses too may be the unit of a test.

const tests = ['test/**/*.ts', '**/testing/**/*.ts'];

const configOf = ({ production = false }: { readonly production?: boolean }): KnipConfig => ({
  entry: [
    'services/*/{main,deep-audit}.ts!',
    'services/console/page/main.ts!',
    'services/trainer/replay.ts!',
    '**/*-{worker,thread}.ts!',
    'shared/log/sqlite/worker.ts!',
    'shared/claw-nano/make.ts!',
    'shared/claw-nano/tools/make-tools.ts!',
    'services/judge/ear/train/make.ts!',
    'infra/**/*.{ts,js}!',
    'examples/**/*.{ts,js}!',
    ...tests.map((pattern) => (production ? `!${pattern}!` : pattern)),
  ],
  project: [
    '{services,shared,clients,infra,test,examples}/**/*.{ts,js}!',
    ...(production ? [...tests, '**/*.test.ts'].map((pattern) => `!${pattern}!`) : []),
  ],
  ignoreBinaries: [
    'java',
    'pgrep',
    'promtool',
    'podman',
    'mvn',
    'mount',
    'umount',
    'openssl',
    'redis-server',
    'setpriv',
    'unshare',
  ],
  ignoreDependencies: ['@swc/core'],
  ignoreExportsUsedInFile: production,
});

export default configOf;
