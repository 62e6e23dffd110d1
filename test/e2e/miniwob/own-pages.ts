import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pagesFolder } from './install.ts';

/** Writes pages of our own beside MiniWoB++'s core: body and script by name. The script gets `end(reward)`. */
export function writePages(
  folder: string,
  pages: Readonly<Record<string, { readonly body: string; readonly script?: string }>>,
): string {
  const html = join(pagesFolder, 'miniwob/html');
  for (const part of ['core/core.js', 'core/core.css']) cpSync(join(html, part), join(folder, part));
  mkdirSync(join(folder, 'miniwob'), { recursive: true });
  for (const [name, { body, script = '' }] of Object.entries(pages)) {
    const text = `<!DOCTYPE html><html><head><link rel="stylesheet" href="../core/core.css">
<script src="../core/core.js"></script><script>
const end = (reward) => core.endEpisode(reward, true, 'our own');
const genProblem = () => {};
window.onload = () => { core.startEpisode(); ${script} };
</script></head><body><div id="wrap"><div id="query">Try.</div><div id="area">${body}</div></div></body></html>`;
    writeFileSync(join(folder, 'miniwob', `${name}.html`), text);
  }
  return folder;
}
