/** A file of a model repository, as listed by the hub. */
export type HubFile = {
  readonly path: string;
  /** bytes */
  readonly size: number;
  /** expected digest; `git`: SHA-1 of the git blob, `sha256`: of the bytes (LFS) */
  readonly digest: { readonly type: 'git' | 'sha256'; readonly value: string };
};

const textFiles: ReadonlySet<string> = new Set([
  'config.json',
  'generation_config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'chat_template.jinja',
  'chat_template.json',
]);
const single = 'model.safetensors';
const index = 'model.safetensors.index.json';
const shard = /^model-\d+-of-\d+\.safetensors$/;

/**
 * The files that a model is loaded from, config.json first, weights last. Other formats, other precisions and
 * subfolders are ignored. A single weights file takes precedence over shards.
 */
export function neededFiles<File extends Pick<HubFile, 'path'>>(files: readonly File[]): readonly File[] {
  const hasSingle = files.some(({ path }) => path === single);
  const isWeight = (path: string): boolean =>
    hasSingle ? path === single : path === index || shard.test(path);
  const rank = (path: string): number => (path === 'config.json' ? 0 : isWeight(path) ? 2 : 1);
  return files
    .filter(({ path }) => textFiles.has(path) || isWeight(path))
    .sort((a, b) => rank(a.path) - rank(b.path) || (a.path < b.path ? -1 : 1));
}

/** Names of required files that are missing. */
export function missingFiles(paths: readonly string[]): readonly string[] {
  const weights = paths.includes(single) || paths.includes(index);
  return [
    ...['config.json', 'tokenizer.json'].filter((name) => !paths.includes(name)),
    ...(weights ? [] : [`${single} (or ${index} and its shards)`]),
  ];
}
