import type { BucketPlace } from '../config/checkpoints.ts';
import type { Bucket, StoredObject } from '../policy/checkpoints/bucket.ts';
import { storeUnavailable } from '../policy/checkpoints/store-unavailable.ts';
import { type Answer, openSignedSender } from './send-signed.ts';

/** A bucket of an S3-compatible store. */
export function openBucket(place: BucketPlace): Bucket {
  const { name, prefix } = place;
  const { send, close } = openSignedSender(place);
  const pathOf = (key: string) => `/${prefix}${key}`.split('/').map(encodeURIComponent).join('/');
  return {
    name,
    put: async (key, content, { ifAbsent = false } = {}) => {
      const { status, body } = await send({
        method: 'PUT',
        path: pathOf(key),
        content,
        headers: ifAbsent ? { 'if-none-match': '*' } : {},
        // 409: another writer is storing the same key at this moment
        expected: ifAbsent ? [200, 409, 412] : [200],
      });
      await body.dump();
      return status === 200;
    },
    get: async (key) => {
      const { status, body } = await send({ method: 'GET', path: pathOf(key), expected: [200, 404] });
      if (status === 200) return readOn(name, body);
      await refuseNoBucket(name, body);
      return undefined;
    },
    has: async (key) => (await listOnce(key, undefined)).objects.some((object) => object.key === key),
    list: async (begin) => {
      const objects: StoredObject[] = [];
      for (let from: string | undefined, more = true; more; ) {
        const part = await listOnce(begin, from);
        objects.push(...part.objects);
        from = part.next;
        more = from !== undefined;
      }
      return objects;
    },
    remove: async (key) => {
      const { body } = await send({ method: 'DELETE', path: pathOf(key), expected: [200, 204, 404] });
      await body.dump();
    },
    close,
  };

  async function listOnce(begin: string, from: string | undefined) {
    const query = new URLSearchParams({ 'list-type': '2', prefix: prefix + begin });
    if (from !== undefined) query.set('continuation-token', from);
    // a form encodes a space as +, which signatures do not
    const path = `/?${query.toString().replaceAll('+', '%20')}`;
    const { headers, body } = await send({ method: 'GET', path, expected: [200] });
    const now = Date.parse(String(headers.date ?? '')) || Date.now();
    const document = await body.text().catch((error: Error) => {
      throw storeUnavailable(`${name}: a listing broke off: ${error.message}`, error);
    });
    return readListing(document, prefix.length, now);
  }
}

/** An object that breaks off is no damage: the store is away. */
async function* readOn(name: string, body: Answer['body']): AsyncIterable<Uint8Array> {
  try {
    yield* body as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw storeUnavailable(`${name}: an object broke off: ${(error as Error).message}`, error);
  }
}

/** A missing bucket and a missing object have the same status. @throws StoreUnavailable */
async function refuseNoBucket(name: string, body: Answer['body']): Promise<void> {
  if ((await body.text()).includes('<Code>NoSuchBucket</Code>'))
    throw storeUnavailable(`${name}: the bucket does not exist`);
}

/** @param cut characters before the key */
function readListing(document: string, cut: number, now: number) {
  const objects = [...document.matchAll(/<Contents>(.*?)<\/Contents>/gs)].map(([, entry = '']) => ({
    key: fieldOf(entry, 'Key').slice(cut),
    etag: fieldOf(entry, 'ETag'),
    age: now - Date.parse(fieldOf(entry, 'LastModified')),
  }));
  const isCut = fieldOf(document, 'IsTruncated') === 'true';
  return { objects, next: isCut ? fieldOf(document, 'NextContinuationToken') || undefined : undefined };
}

const fieldOf = (document: string, field: string): string =>
  unescaped(new RegExp(`<${field}>([^<]*)</${field}>`).exec(document)?.[1] ?? '');

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };
const unescaped = (text: string): string =>
  text.replace(/&(lt|gt|quot|apos|amp);/g, (_, name: string) => entities[name]!);
