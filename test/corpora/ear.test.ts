import { expect, test } from 'vitest';
import { sampleAsk } from '../../shared/claw-nano/dialogues/ask.ts';
import { createRandom } from '../../shared/policy/model/random.ts';
import { scoresBy, testOn } from './ear-on-corpus.ts';
import { part } from './scoring.ts';

/** Different requests that the demo's people may send next. */
const REQUESTS = 700;

// the long tests measure the others
testOn('unseen-messages');

test('a new request is no complaint about the answer before it', async () => {
  const random = createRandom('new requests');
  const requests = new Set<string>();
  while (requests.size < REQUESTS) requests.add(sampleAsk(random).text);
  const scored = await scoresBy(
    [...requests].map((text) => ({
      lang: 'en',
      style: 'task',
      label: 'neither',
      wish: [],
      request: 'Which pan do you recommend?',
      answer: 'A heavy pan of cast iron.',
      text,
    })),
  );
  const misheard = scored.filter(({ heard }) => heard.vote !== 0).map(({ message }) => message.text);
  expect(part(misheard.length, REQUESTS), misheard.join('\n')).toBeLessThan(0.01);
});
