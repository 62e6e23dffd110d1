import { readFile } from 'node:fs/promises';

/** Thrown if a file of a model is missing, truncated or malformed; the message names the folder or the file. */
export class DamagedModel extends Error {
  override readonly name = 'DamagedModel';
}

/**
 * Calls `read`, which reads files of a model's folder. Throws DamagedModel if a file is missing or malformed,
 * because a restart cannot fix that. Does not change errors with a specific name, and errors of the system (EIO,
 * EACCES, EMFILE, ...), which may be temporary.
 */
export async function readModel<Value>(folder: string, read: () => Promise<Value>): Promise<Value> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof Error) || !isDamage(error)) throw error;
    const { message } = error;
    const named = message.includes(folder) ? message : `${folder}: ${message}`;
    throw new DamagedModel(`${named}. A file of the model is damaged or missing: download or copy it again`, {
      cause: error,
    });
  }
}

const damages: ReadonlySet<string> = new Set(['Error', 'SyntaxError', 'ZodError', 'RangeError']);

const isDamage = (error: Error): boolean => {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || (code === undefined && damages.has(error.name));
};

/** Throws an error that names the file if it is not JSON. */
export async function readJson(path: string): Promise<unknown> {
  const text = await readFile(path, 'utf8');
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${path} is not JSON`, { cause: error });
  }
}
