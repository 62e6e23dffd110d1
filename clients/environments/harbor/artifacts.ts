import { posix } from 'node:path';
import { environmentFailure } from '../environment-failure.ts';
import type { Container } from './container.ts';
import { quoted } from './quoted.ts';

/** ms for one artifact */
const LIMIT_MS = 60_000;

/**
 * Copies artifacts from the agent's container to the same places of the verifier's. They may have been made to
 * deceive: devices, set-user-id bits and links that leave the artifact stay behind. An artifact that is not there
 * is left out.
 *
 * @throws EnvironmentFailure
 */
export async function transferArtifacts(
  from: Container,
  to: Container,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const asRoot = { user: '0', limitMs: LIMIT_MS, signal };
  for (const path of paths) {
    const problem = (output: string) =>
      environmentFailure('evaluation-failed', `cannot take the artifact ${path}: ${output.slice(-300)}`);
    const found = await from.run(`test -e ${quoted(path)}`, asRoot);
    if (found.code === 1) continue;
    // any other status says nothing about the artifact
    if (found.code !== 0) throw problem(`status ${found.code ?? found.killed}: ${found.output}`);
    const parent = posix.dirname(path);
    const cleared = await to.run(`mkdir -p ${quoted(parent)} && rm -rf ${quoted(path)}`, asRoot);
    if (cleared.code !== 0) throw problem(cleared.output);
    const isCopied = await from.copyTo(path, to, parent);
    const cleaned = await to.run(cleaning(path), asRoot);
    if (!isCopied || cleaned.code !== 0) throw problem(cleaned.output);
  }
}

/** Removes what could lead the verifier to other files than the artifact's own. */
function cleaning(path: string): string {
  const place = quoted(path);
  const keepsInside = `for link; do case "$(readlink -f "$link")" in ${place}/*) ;; *) rm -f "$link" ;; esac; done`;
  return [
    `find ${place} \\( -type b -o -type c -o -type p -o -type s \\) -delete`,
    `find ${place} -type l -exec sh -c ${quoted(keepsInside)} sh {} +`,
    `if [ -e ${place} ]; then chmod -R u-s,g-s,a+rX ${place}; fi`,
  ].join(' && ');
}
