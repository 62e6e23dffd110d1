import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

/** Posts what SQLite says about the pages of a file: `ok`, or the first damage. */
const db = new DatabaseSync(workerData as string);
const finding = check();
db.close();
parentPort!.postMessage(finding);

function check(): string {
  try {
    return String(db.prepare('PRAGMA quick_check(1)').get()?.quick_check);
  } catch (error) {
    return (error as Error).message;
  }
}
