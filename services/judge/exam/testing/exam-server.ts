import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openaiJudge } from '../../judges/openai/openai.ts';
import { promptedJudge } from '../../judges/openai/prompted-judge.ts';
import { readExchanges, turnOf } from '../exam.ts';

/** The server's behaviour for the exchange at this index: a status, the right verdict, or no answer. */
export type Behaviour = (index: number) => number | 'right' | 'hang';

/** Each exchange has its own seed, by which the server recognises it. */
async function seedsOfExchanges(): Promise<ReadonlyMap<number, number>> {
  const seeds = new Map<number, number>();
  const signal = new AbortController().signal;
  for (const [index, exchange] of readExchanges().entries()) {
    const judge = promptedJudge('seeds', async (_, seed) => {
      seeds.set(seed, index);
      return { text: '', model: undefined, promptTokens: 0, completionTokens: 0 };
    });
    await judge.vote(turnOf(index, exchange), 0, signal);
  }
  return seeds;
}

/** A local server that answers an exam, and a judge that asks it. `become` changes its behaviour. */
export async function startExamServer(first: Behaviour) {
  const seeds = await seedsOfExchanges();
  const exchanges = readExchanges();
  const asked: number[] = [];
  const hanging: ServerResponse[] = [];
  let behaviour = first;
  let left = 0;
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const index = seeds.get((JSON.parse(body) as { readonly seed: number }).seed)!;
    asked.push(index);
    response.on('close', () => {
      if (!response.writableFinished) left += 1;
    });
    const does = behaviour(index);
    if (does === 'hang') return void hanging.push(response);
    if (does !== 'right') return void response.writeHead(does).end();
    const content = `\\boxed{${exchanges[index]!.verdict}}`;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ choices: [{ message: { content } }] }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return {
    baseUrl,
    judge: openaiJudge({ baseUrl, apiKey: undefined, model: 'any', temperature: 0, maxTokens: 9 }),
    /** indexes of the exchanges it was asked, in order */
    asked: asked as readonly number[],
    hanging: () => hanging.length,
    /** requests that were aborted before an answer */
    left: () => left,
    become: (next: Behaviour) => {
      behaviour = next;
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Waits for a condition that network events make true; uses no clock. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(setImmediate);
}
