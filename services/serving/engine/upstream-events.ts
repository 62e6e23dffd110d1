import { createParser } from 'eventsource-parser';
import type { Dispatcher } from 'undici';

/**
 * Hears the server-sent events of an answer up to `[DONE]`, each as soon as it is here. What comes after that
 * mark is read to nowhere: the connection is kept for the next request only when the answer has ended. Rejects
 * with what `hear` throws, or with why the answer broke off.
 */
export function hearEvents(
  body: Dispatcher.ResponseData['body'],
  hear: (data: string) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  return new Promise((resolve, reject) => {
    let isDone = false;
    const parser = createParser({
      onEvent: ({ data }) => {
        if (isDone) return;
        isDone = data === '[DONE]';
        if (isDone) resolve();
        else hear(data);
      },
    });
    body.on('error', reject);
    body.on('end', resolve);
    body.on('data', (bytes: Uint8Array) => {
      if (isDone) return;
      try {
        parser.feed(decoder.decode(bytes, { stream: true }));
      } catch (error) {
        isDone = true;
        reject(error);
        body.destroy();
      }
    });
  });
}
