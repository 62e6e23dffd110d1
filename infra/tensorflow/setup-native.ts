/**
 * Puts the native TensorFlow backend into `.native/`: `npm run setup:native`. Safe to run again; does nothing
 * when it is ready.
 *
 * The package's own download of libtensorflow is pinned to 2.9 and not reachable everywhere. So on Linux the
 * binding of @tensorflow/tfjs-node is compiled, in ten seconds, against the libraries and headers of a
 * current TensorFlow wheel. Elsewhere the package's own install is used.
 */
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nativeRoot } from '../../shared/policy/executors/native-location.ts';

const TFJS_NODE = '4.22.0';
const TENSORFLOW = '2.21.0';
const HEADERS = '1.9.0';

const packageFolder = join(nativeRoot, 'node_modules', '@tensorflow', 'tfjs-node');
const stampFile = join(nativeRoot, 'ready.json');
const stamp = JSON.stringify({
  tfjsNode: TFJS_NODE,
  tensorflow: TENSORFLOW,
  platform: process.platform,
  arch: process.arch,
});
const started = performance.now();

function say(text: string): void {
  console.error(`setup:native [${((performance.now() - started) / 1000).toFixed(0).padStart(3)} s] ${text}`);
}

/** Says what is missing and what still works, then ends the process. */
function fail(problem: string, remedy: string): never {
  console.error(
    `setup:native: ${problem}\n  ${remedy}\n  ClawLoop runs without it on the wasm backend, only slower.`,
  );
  process.exit(1);
}

function run(command: string, args: readonly string[], remedy: string, cwd = nativeRoot): void {
  const { status, error } = spawnSync(command, args, { cwd, stdio: ['ignore', 2, 2] });
  if (status !== 0)
    fail(
      `${command} ${args.slice(0, 3).join(' ')} ... failed: ${error?.message ?? `exit ${status}`}`,
      remedy,
    );
}

function has(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

/** The wheel's platform tag; undefined where no wheel of TensorFlow fits. */
function wheelPlatform(): string | undefined {
  if (process.platform !== 'linux') return undefined;
  return { x64: 'manylinux_2_27_x86_64', arm64: 'manylinux_2_27_aarch64' }[process.arch as string];
}

function installPackages(scripts: boolean): void {
  const packages = [`@tensorflow/tfjs-node@${TFJS_NODE}`, `node-api-headers@${HEADERS}`];
  const flags = [
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    '--save-exact',
    ...(scripts ? [] : ['--ignore-scripts']),
  ];
  if (!existsSync(join(nativeRoot, 'package.json'))) {
    writeFileSync(join(nativeRoot, 'package.json'), '{ "name": "clawloop-native", "private": true }\n');
  }
  run('npm', ['install', ...flags, ...packages], 'Is the npm registry reachable?');
}

/** Downloads the wheel and takes the two libraries and the headers out of it. */
function fetchTensorFlow(platform: string): void {
  const downloads = join(nativeRoot, 'downloads');
  const wheel = [
    ...['--no-deps', '--only-binary=:all:', '--implementation', 'cp', '--python-version', '3.11'],
    ...['--platform', platform, '--dest', downloads, `tensorflow-cpu==${TENSORFLOW}`],
  ];
  run(
    'python3',
    ['-m', 'pip', 'download', ...wheel],
    'Is the Python package index reachable, and are there 2 GB of free disk?',
  );
  const file = readdirSync(downloads).find(
    (name) => name.startsWith('tensorflow_cpu') && name.endsWith('.whl'),
  );
  if (file === undefined) fail('pip left no wheel', `Look into ${downloads}.`);
  const deps = join(packageFolder, 'deps');
  rmSync(deps, { recursive: true, force: true });
  mkdirSync(deps, { recursive: true });
  const unpack = [
    'import sys, zipfile',
    'wheel = zipfile.ZipFile(sys.argv[1])',
    "wanted = ('tensorflow/include/', 'tensorflow/libtensorflow_')",
    'keep = [name for name in wheel.namelist() if name.startswith(wanted)]',
    'wheel.extractall(sys.argv[2], keep)',
  ];
  run(
    'python3',
    ['-c', unpack.join('\n'), join(downloads, file), deps],
    'The wheel may be broken: run again.',
  );
  rmSync(downloads, { recursive: true });
  for (const [link, target] of [
    ['lib', 'tensorflow'],
    ['include', 'tensorflow/include'],
  ] as const) {
    symlinkSync(target, join(deps, link));
  }
}

function compileBinding(): void {
  const output = join(packageFolder, 'lib', 'napi-v8');
  mkdirSync(output, { recursive: true });
  const flags = ['-O2', '-std=c++17', '-fPIC', '-shared', '-w', '-DNAPI_VERSION=8'];
  const headers = [`-I${join(nativeRoot, 'node_modules', 'node-api-headers', 'include')}`, '-Ideps/include'];
  const sources = [
    'binding/tfjs_backend.cc',
    'binding/tfjs_binding.cc',
    '-o',
    join(output, 'tfjs_binding.node'),
  ];
  const libraries = ['-Ldeps/lib', '-l:libtensorflow_cc.so.2', '-l:libtensorflow_framework.so.2'];
  const search = ['-Wl,-rpath,$ORIGIN/../../deps/lib', '-Wl,--disable-new-dtags'];
  run(
    'g++',
    [...flags, ...headers, ...sources, ...libraries, ...search],
    'Is a C++17 compiler installed?',
    packageFolder,
  );
}

/** Loads the backend in a fresh process, as a service would. */
function check(): void {
  const backend = new URL('../../shared/policy/backend.ts', import.meta.url).href;
  const script = [
    `const { openBackend } = await import('${backend}');`,
    `console.error('  ' + (await openBackend('native')).report);`,
  ].join('\n');
  run(
    process.execPath,
    ['--input-type=module', '-e', script],
    'The compiled binding does not load; see the message above.',
  );
}

const platform = wheelPlatform();
if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) {
  say(`ready in ${nativeRoot}`);
} else {
  mkdirSync(nativeRoot, { recursive: true });
  if (platform === undefined) {
    say(
      `installing @tensorflow/tfjs-node ${TFJS_NODE} as it comes (no wheel for ${process.platform}-${process.arch})`,
    );
    installPackages(true);
  } else {
    if (!has('g++', '--version')) fail('g++ is missing', 'On Debian or Ubuntu: apt-get install g++');
    if (!has('python3', '-m', 'pip', '--version'))
      fail('pip is missing', 'On Debian or Ubuntu: apt-get install python3-pip');
    say(`installing @tensorflow/tfjs-node ${TFJS_NODE}`);
    installPackages(false);
    say(`downloading TensorFlow ${TENSORFLOW} (275 MB)`);
    fetchTensorFlow(platform);
    say('compiling the binding');
    compileBinding();
  }
  say('checking that it loads');
  check();
  writeFileSync(stampFile, stamp);
  say(`done: ${fileURLToPath(new URL(`file://${nativeRoot}`))}`);
}
