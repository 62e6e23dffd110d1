// node page-readers.ts URL COUNT: reads from the console what COUNT open pages read, and draws nothing. Each follows the
// live stream, and after a message requests what its page shows. Prints `following` when all streams are open.
import { createParser } from 'eventsource-parser';

/** What the pages that list turns, learning, versions and people request after a change. */
const requests: readonly (readonly string[])[] = [
  ['/api/turns?limit=50', '/api/turns/facets?adapter=default'],
  ['/api/learning?adapter=default', '/api/version-checks?adapter=default'],
  ['/api/versions?adapter=default&latest=50'],
  ['/api/people', '/api/sessions'],
];

const [url = '', count = ''] = process.argv.slice(2);

async function follow(paths: readonly string[], opened: () => void): Promise<void> {
  const response = await fetch(`${url}/api/live`);
  if (!response.ok) throw new Error(`the live stream answered ${response.status}`);
  opened();
  let isReading = false;
  const read = async (): Promise<void> => {
    if (isReading) return; // a page has one request of a kind at a time
    isReading = true;
    for (const path of paths) {
      const answer = await fetch(url + path);
      if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
      await answer.json();
    }
    isReading = false;
  };
  const parser = createParser({ onEvent: () => void read() });
  for await (const text of response.body!.pipeThrough(new TextDecoderStream())) parser.feed(text);
}

const opened: Promise<void>[] = [];
for (let n = 0; n < Number(count); n++)
  opened.push(new Promise((resolve) => void follow(requests[n % requests.length]!, resolve)));
await Promise.all(opened);
console.log('following');
