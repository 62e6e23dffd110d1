import { readFile } from 'node:fs/promises';

/** Thrown when a file of a model is missing, cut off or malformed; the message names folder or file. */
export class DamagedModel extends Error {
  override readonly name = 'DamagedModel';
}

/**
 * What `read` reads of a model's folder. Starting again mends no broken file: what is wrong with one, a file
 * that is not there included, is thrown as DamagedModel. An error with a name of its own stays what it is, and
 * so does what the system says of the disk (EIO, EACCES, EMFILE, ...), which may pass.
 */
export async function readModel<Value>(folder: string, read: () => Promise<Value>): Promise<Value> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof Error) || !isDamage(error)) throw error;
    const { message } = error;
    const named = message.includes(folder) ? message : `${folder}: ${message}`;
    throw new DamagedModel(`${named}. A file of the model is broken or missing: fetch or copy it again`, {
      cause: error,
    });
  }
}

const damages: ReadonlySet<string> = new Set(['Error', 'SyntaxError', 'ZodError', 'RangeError']);

const isDamage = (error: Error): boolean => {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || (code === undefined && damages.has(error.name));
};

/** Throws an error that names the file when it is no JSON. */
export async function readJson(path: string): Promise<unknown> {
  const text = await readFile(path, 'utf8');
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${path} is not JSON`, { cause: error });
  }
}
