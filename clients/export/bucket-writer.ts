import type { Bucket } from '../../shared/policy/checkpoints/bucket.ts';
import { textContent } from '../../shared/policy/checkpoints/bucket-manifest.ts';
import { fileOf } from './folder-writer.ts';
import { type Encoding, jsonLines, type LineWriter } from './line-writer.ts';

/**
 * Writes one object per session, such as `<session>.jsonl`. A session that has an object is not written again, so a
 * restarted export continues where it stopped. Closes the bucket.
 * @throws StoreUnavailable (also by `write`)
 */
export async function bucketWriter(
  bucket: Bucket,
  { extension, encode }: Encoding = jsonLines,
): Promise<LineWriter> {
  const written = new Set((await bucket.list('')).map(({ key }) => key));
  return {
    isWritten: async (session) => written.has(fileOf(session, extension)),
    write: async (lines, session) => {
      if (lines.length === 0) return; // nothing to export
      const key = fileOf(session, extension);
      // another exporter may have been first: its object stays
      await bucket.put(key, textContent(encode(lines)), { ifAbsent: true });
      written.add(key);
    },
    ready: async () => {},
    close: bucket.close,
  };
}
