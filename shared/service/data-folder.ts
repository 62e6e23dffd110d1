import { join, resolve } from 'node:path';

/** Where things stand in the data folder. Services share it and nothing else but the log. */
export type DataFolder = ReturnType<typeof dataFolder>;

export const dataFolder = (path: string) => {
  const root = resolve(path);
  return {
    root,
    /** the embedded log */
    log: join(root, 'log'),
    /** one folder per adapter, one below it per committed checkpoint */
    checkpoints: (adapter: string) => join(root, 'checkpoints', adapter),
    /** adapters as an upstream engine loads them: one folder per version, with the files of PEFT and no others */
    adapters: (adapter: string) => join(root, 'adapters', adapter),
    /** locked by the one trainer that writes checkpoints here */
    trainerClaim: join(root, 'checkpoints', 'trainer.lock'),
    /** facts that serving could not append yet */
    outbox: join(root, 'outbox'),
    /** answers that can be asked for again by their Idempotency-Key */
    answers: join(root, 'answers'),
    /** access keys, hashed */
    keys: join(root, 'keys.json'),
    /** what session keys are signed with */
    sessionSecret: join(root, 'session-secret'),
    /** what the supervised services print */
    serviceLogs: join(root, 'logs'),
    /** locked by the one `clawloop up` that supervises the services here */
    claim: join(root, 'up.lock'),
    /** written by `clawloop up`: endpoint and process ids */
    running: join(root, 'running.json'),
  };
};
