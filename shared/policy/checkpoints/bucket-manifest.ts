import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { z } from 'zod';
import { parseJson } from '../../lang/json.ts';
import type { Bucket, ObjectContent } from './bucket.ts';
import { CheckpointDamaged } from './checkpoint-files.ts';
import { checkpointState } from './state.ts';

/*
 * A checkpoint of an adapter in a bucket:
 *   ADAPTER/objects/UPLOAD/FILE.N   its files, in pieces
 *   ADAPTER/manifests/NAME.json     its manifest, written last: with it, the checkpoint is committed
 *   ADAPTER/aside/NAME-X.json       the manifest of one that was set aside
 *   ADAPTER/store.json              marks the store
 */

const piece = z.object({ key: z.string(), bytes: z.int().min(0), sha256: z.string() });
export type Piece = z.output<typeof piece>;

const file = z.object({ path: z.string().regex(/^[\w-][\w.-]*$/), pieces: z.array(piece) });

const manifest = z.object({
  format: z.literal(1),
  name: z.string(),
  /** begins the keys of its objects */
  upload: z.string(),
  state: checkpointState,
  files: z.array(file).min(1),
});
/** What a checkpoint in a bucket consists of. It never changes. */
export type BucketManifest = z.output<typeof manifest>;

export const keysOf = (adapter: string) => ({
  marker: `${adapter}/store.json`,
  manifests: `${adapter}/manifests/`,
  manifest: (name: string) => `${adapter}/manifests/${name}.json`,
  asides: `${adapter}/aside/`,
  aside: (name: string) => `${adapter}/aside/${name}.json`,
  objects: `${adapter}/objects/`,
  upload: (upload: string) => `${adapter}/objects/${upload}/`,
});

/** The content of a small object. */
export function textContent(content: string | Uint8Array): ObjectContent {
  const bytes = Buffer.from(content);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return {
    bytes: bytes.length,
    sha256,
    open: async function* () {
      yield bytes;
    },
  };
}

export const manifestContent = (of: BucketManifest): ObjectContent => textContent(`${JSON.stringify(of)}\n`);

/**
 * Reads a manifest; undefined if there is none.
 * @throws CheckpointDamaged, StoreUnavailable
 */
export async function readManifest(bucket: Bucket, key: string): Promise<BucketManifest | undefined> {
  const content = await bucket.get(key);
  if (content === undefined) return undefined;
  const parsed = manifest.safeParse(parseJson((await buffer(content)).toString('utf8')));
  if (parsed.success) return parsed.data;
  throw new CheckpointDamaged(`the object ${bucket.name}/${key} is damaged, or of a newer version`);
}
