import { z } from 'zod';
import { parseJson } from '../../../shared/lang/json.ts';
import type { Edit } from './edit.ts';
import type { Toolchain } from './toolchain.ts';

const OTHER_FOLDERS = /(^|\/)(docs?|examples?|benchmarks?|scripts?|tools|build|dist)\//;

const Found = z.array(
  z.object({
    file: z.string(),
    modifier: z.string(),
    line: z.int(),
    start: z.int(),
    end: z.int(),
    replacement: z.string(),
  }),
);

/** Python 3.11 and pytest of Debian 12. */
export const python: Toolchain = {
  language: 'python',
  image: `FROM docker.io/library/debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends git python3 python3-pytest && rm -rf /var/lib/apt/lists/*`,
  testCommand: 'PYTHONPATH=src python3 -m pytest -q -o addopts=',
  runner: ['run.sh', 'clawloop_report.py'],
  testFiles: [
    'test_*.py',
    '*_test.py',
    'conftest.py',
    'pytest.ini',
    'tox.ini',
    'setup.cfg',
    'pyproject.toml',
    'sitecustomize.py',
    'usercustomize.py',
    '*.pth',
    '*.so',
    '*.pyc',
  ],
  testFolders: ['tests', 'test', 'testing', '__pycache__'],
  isSource: (path) => path.endsWith('.py') && path !== 'setup.py' && !OTHER_FOLDERS.test(path),
  rootOf: (path, files) => {
    const segments = path.split('/');
    const folders = segments.slice(0, -1).map((_, index) => segments.slice(0, index + 1).join('/'));
    return folders.find((folder) => files.has(`${folder}/__init__.py`)) ?? path;
  },
  whyNot: async () => undefined,
  findEdits: async (texts, workbench): Promise<readonly Edit[]> => {
    const files = JSON.stringify(Object.fromEntries(texts));
    const printed = await workbench.runScript('python-edits.py', files);
    return Found.parse(parseJson(printed));
  },
};
