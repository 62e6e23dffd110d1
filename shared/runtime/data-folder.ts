import { join, resolve } from 'node:path';

/** The default of every command, so that it need not be named. */
const DEFAULT_FOLDER = '.clawloop';

/** The flag that makes a command use a data folder, after a space; empty for the default. */
export const folderFlag = (folder: string): string =>
  resolve(folder) === resolve(DEFAULT_FOLDER) ? '' : ` --data-folder ${resolve(folder)}`;

/** Paths in the data folder. Services share nothing but this folder and the log. */
export type DataFolder = ReturnType<typeof dataFolder>;

export const dataFolder = (path: string) => {
  const root = resolve(path);
  return {
    root,
    /** the embedded log */
    log: join(root, 'log'),
    /** a folder per adapter, with a folder per committed checkpoint */
    checkpoints: (adapter: string) => join(root, 'checkpoints', adapter),
    /** the folders of all adapters' checkpoints */
    checkpointsOfAll: join(root, 'checkpoints'),
    /** adapters for upstream engines: a folder per version with PEFT files only */
    adapters: (adapter: string) => join(root, 'adapters', adapter),
    /** the folders of all adapters for upstream engines */
    adaptersOfAll: join(root, 'adapters'),
    /** locked by the trainer that writes checkpoints here */
    trainerClaim: join(root, 'checkpoints', 'trainer.lock'),
    /** tells the trainer of this folder from those of other hosts */
    trainerId: join(root, 'checkpoints', 'trainer-id'),
    /** tokens that were sent to a training server */
    usedTokens: join(root, 'training-tokens.json'),
    /** events that serving could not append yet */
    outbox: join(root, 'outbox'),
    /** answers stored by Idempotency-Key */
    answers: join(root, 'answers'),
    /** states of views, so that a start reads only newer records; may be deleted */
    snapshots: join(root, 'snapshots'),
    /** what a backup is uploading; may be deleted while none runs */
    backupUpload: join(root, 'backup-upload'),
    /** access keys, hashed */
    keys: join(root, 'keys.json'),
    /** secret that signs session keys */
    sessionSecret: join(root, 'session-secret'),
    /** output of the supervised services */
    serviceLogs: join(root, 'logs'),
    /** locked by the `clawloop up` that supervises the services here */
    claim: join(root, 'up.lock'),
    /** written by `clawloop up`: endpoint and process ids */
    running: join(root, 'running.json'),
  };
};
