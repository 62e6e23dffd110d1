/**
 * Bytes of the largest object; longer files are stored in pieces. Some servers hold a signed request in memory, and
 * refuse more than 32 MiB (S3Proxy). A retry repeats one piece.
 */
export const PIECE_BYTES = 16 * 2 ** 20;

/** What is stored under one key. */
export type ObjectContent = {
  readonly bytes: number;
  /** hex; the server compares it with what it receives */
  readonly sha256: string;
  /** Reads the content from its beginning; called again for a second try. */
  readonly open: () => AsyncIterable<Uint8Array>;
};

export type StoredObject = {
  readonly key: string;
  /** changes with the content */
  readonly etag: string;
  /** ms since it was stored, by the server's clock */
  readonly age: number;
};

/** Objects in a bucket, below a prefix. Every call may throw StoreUnavailable. */
export type Bucket = {
  /** for messages */
  readonly name: string;
  /** Stores an object. False: `ifAbsent`, and the key is taken. */
  readonly put: (
    key: string,
    content: ObjectContent,
    options?: { readonly ifAbsent?: boolean },
  ) => Promise<boolean>;
  /** The content of an object; undefined if there is none. */
  readonly get: (key: string) => Promise<AsyncIterable<Uint8Array> | undefined>;
  readonly has: (key: string) => Promise<boolean>;
  /** All objects whose keys begin with this. */
  readonly list: (prefix: string) => Promise<readonly StoredObject[]>;
  /** Removes an object, if it is there. */
  readonly remove: (key: string) => Promise<void>;
  readonly close: () => Promise<void>;
};
