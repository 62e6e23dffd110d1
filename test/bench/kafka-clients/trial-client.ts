/** A record of a trial; the topic has `partitions` partitions. */
export type TrialRecord = { readonly key: string; readonly value: Buffer; readonly partition: number };

export type Sender = {
  /** Resolves when all in-sync replicas have the records: an idempotent producer, one send at a time. */
  readonly append: (topic: string, records: readonly TrialRecord[]) => Promise<void>;
  readonly close: () => Promise<void>;
};

export type Transactions = {
  /** One transaction with these records and one offset of a group. */
  readonly commit: (topic: string, records: readonly TrialRecord[], next: number) => Promise<void>;
  readonly close: () => Promise<void>;
};

export type Follower = { readonly close: () => Promise<void> };

/** What the trial asks of a client, in the form in which the log uses it. */
export type TrialClient = {
  readonly openSender: () => Promise<Sender>;
  readonly openTransactions: (id: string) => Promise<Transactions>;
  /** Reads committed records of all partitions from `from` on, without a group. `onValues`: values in a row. */
  readonly follow: (
    topic: string,
    from: readonly number[],
    onValues: (values: readonly Buffer[]) => void,
  ) => Promise<Follower>;
};

export type OpenTrialClient = (brokers: readonly string[], folder: string) => Promise<TrialClient>;

export const partitions = 3;

/** Bytes of a request above which it is compressed with zstd, as in shared/log/kafka/messages.ts. */
const compressAbove = 4096;
export const isCompressed = (records: readonly TrialRecord[]): boolean =>
  records.reduce((sum, { value }) => sum + value.length, 0) > compressAbove;
