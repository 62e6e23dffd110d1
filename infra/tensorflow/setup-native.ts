/**
 * `npm run setup:native`: installs the native TensorFlow backend into `.native/`. It can be run again, and does
 * nothing if the backend is ready.
 *
 * The libtensorflow download of the npm package is pinned to 2.9 and not reachable everywhere. So on Linux this
 * compiles the binding of @tensorflow/tfjs-node against the libraries and headers of a current TensorFlow wheel,
 * which takes ten seconds. On other systems it uses the package's own install script.
 *
 * `--gpu` uses the CUDA build of TensorFlow and its CUDA libraries. (The package @tensorflow/tfjs-node-gpu is
 * built against CUDA 11.2, which current GPUs no longer support.)
 */
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
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

/** version in packages/package-lock.json */
const TFJS_NODE = '4.22.0';
/** version in the lists of wheels */
const TENSORFLOW = '2.21.0';

const packageFolder = join(nativeRoot, 'node_modules', '@tensorflow', 'tfjs-node');
const stampFile = join(nativeRoot, 'ready.json');
const gpu = process.argv.includes('--gpu');
const flavor = gpu ? { download: '3.3 GB with CUDA', disk: '9 GB' } : { download: '275 MB', disk: '2 GB' };
const stamp = JSON.stringify({
  tfjsNode: TFJS_NODE,
  tensorflow: TENSORFLOW,
  ...(gpu && { gpu }),
  platform: process.platform,
  arch: process.arch,
});
const started = performance.now();

function print(text: string): void {
  console.error(`setup:native [${((performance.now() - started) / 1000).toFixed(0).padStart(3)} s] ${text}`);
}

/** Prints the problem and its remedy, then ends the process. */
function fail(problem: string, remedy: string): never {
  console.error(
    `setup:native: ${problem}\n  ${remedy}\n  Without it ClawLoop runs on the slower wasm backend.`,
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

/** Platform tag of the wheel; undefined if TensorFlow has no wheel for this machine. */
function wheelPlatform(): string | undefined {
  if (process.platform !== 'linux') return undefined;
  return { x64: 'manylinux_2_27_x86_64', arm64: 'manylinux_2_27_aarch64' }[process.arch as string];
}

/** Installs the packages of the lockfile beside this script, verified by hash. */
function installPackages(scripts: boolean): void {
  const flags = ['--no-audit', '--no-fund', '--loglevel=error', ...(scripts ? [] : ['--ignore-scripts'])];
  for (const name of ['package.json', 'package-lock.json'])
    copyFileSync(new URL(`./packages/${name}`, import.meta.url), join(nativeRoot, name));
  run('npm', ['ci', ...flags], 'Is the npm registry reachable?');
}

/** List of wheels for this machine, with the hashes that pip requires. */
const wheelList = new URL(`./wheels/linux-${process.arch}${gpu ? '-gpu' : ''}.txt`, import.meta.url);

/** Downloads the listed wheels without their dependencies. */
function download(folder: string, platform: string): void {
  const arch = platform.slice('manylinux_2_27_'.length);
  const older = ['2_17', '2_12', '2_5'].map((version) => platform.replace('2_27', version));
  const platforms = [platform, ...older, `manylinux2014_${arch}`];
  const wheels = [
    '--no-deps',
    '--only-binary=:all:',
    '--implementation',
    'cp',
    '--python-version',
    '3.11',
    ...platforms.flatMap((name) => ['--platform', name]),
    '--dest',
    folder,
    '--require-hashes',
    '--requirement',
    fileURLToPath(wheelList),
  ];
  const remedy = `Is the Python package index reachable, and is there ${flavor.disk} of free disk space?`;
  run('python3', ['-m', 'pip', 'download', ...(gpu ? ['--no-cache-dir'] : []), ...wheels], remedy);
}

/** Extracts libraries and headers of TensorFlow, and NVIDIA's files except headers. */
const unpack = [
  'import sys, zipfile',
  'for path in sys.argv[2:]:',
  '    wheel = zipfile.ZipFile(path)',
  "    wanted = ('tensorflow/include/', 'tensorflow/libtensorflow_', 'nvidia/')",
  '    named = [name for name in wheel.namelist() if name.startswith(wanted)]',
  "    keep = [name for name in named if not (name.startswith('nvidia/') and '/include/' in name)]",
  '    wheel.extractall(sys.argv[1], keep)',
].join('\n');

/** Downloads the wheels and extracts libraries and headers. */
function fetchTensorFlow(platform: string): void {
  const downloads = join(nativeRoot, 'downloads');
  rmSync(downloads, { recursive: true, force: true });
  download(downloads, platform);
  const deps = join(packageFolder, 'deps');
  rmSync(deps, { recursive: true, force: true });
  mkdirSync(deps, { recursive: true });
  const wheels = readdirSync(downloads).map((name) => join(downloads, name));
  run('python3', ['-c', unpack, deps, ...wheels], 'A wheel may be damaged; run this again.');
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
  const backend = new URL('../../shared/policy/executors/backend.ts', import.meta.url).href;
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
if (gpu && (platform === undefined || process.arch !== 'x64'))
  fail('--gpu needs Linux on x64', 'Run without --gpu for the CPU backend.');
if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) {
  print(`ready in ${nativeRoot}`);
} else {
  mkdirSync(nativeRoot, { recursive: true });
  rmSync(stampFile, { force: true }); // not ready until the end
  if (platform === undefined) {
    print(
      `installing @tensorflow/tfjs-node ${TFJS_NODE} with its own install script (no wheel for ${process.platform}-${process.arch})`,
    );
    installPackages(true);
  } else {
    if (!has('g++', '--version')) fail('g++ is missing', 'On Debian or Ubuntu: apt-get install g++');
    if (!has('python3', '-m', 'pip', '--version'))
      fail('pip is missing', 'On Debian or Ubuntu: apt-get install python3-pip');
    print(`installing @tensorflow/tfjs-node ${TFJS_NODE}`);
    installPackages(false);
    print(`downloading TensorFlow ${TENSORFLOW} (${flavor.download})`);
    fetchTensorFlow(platform);
    print('compiling the binding');
    compileBinding();
  }
  print('checking that the backend loads');
  check();
  writeFileSync(stampFile, stamp);
  print(`done: ${fileURLToPath(new URL(`file://${nativeRoot}`))}`);
}
