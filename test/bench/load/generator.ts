import { Pool } from 'undici';
import { type BodySize, requestBody } from './bodies.ts';

// A separate process for the load bench. It keeps a number of requests open at a server: each answer that ends is
// followed by the next request. Takes one order at a time.

export type Order = {
  readonly url: string;
  readonly size: BodySize;
  readonly stream: boolean;
  readonly atOnce: number;
  /** ms in which requests start; the answers of all are awaited */
  readonly ms: number;
  /** text that every answer must contain */
  readonly mark: string;
  /** Each request asks something else; otherwise all are the same. */
  readonly isVaried?: boolean;
};

export type Taken = {
  readonly answers: number;
  readonly seconds: number;
  /** ms from the request to the end of its answer */
  readonly latencies: readonly number[];
  /**
   * ms from the sending of the engine's first token, which contains its time, to its arrival here; empty: not streamed
   */
  readonly firstTokens: readonly number[];
};

export type Reply = { readonly taken: Taken } | { readonly error: string };

const now = (): number => Number(process.hrtime.bigint()) / 1e6;
const pools = new Map<string, Pool>();
let asked = 0;

type Heard = { readonly ms: number; readonly firstTokenMs: number | undefined };

/** One answer. Rejects if there is none, or if it is not whole or lacks the mark. */
function ask(pool: Pool, body: string, { stream, mark }: Order): Promise<Heard> {
  const began = now();
  return new Promise((resolve, reject) => {
    let status = 0;
    let firstTokenMs: number | undefined;
    const parts: string[] = [];
    pool.dispatch(
      {
        method: 'POST',
        path: '/v1/chat/completions',
        headers: { 'content-type': 'application/json' },
        body,
      },
      {
        onRequestStart: () => {},
        onResponseStart: (_controller, statusCode) => {
          status = statusCode;
        },
        onResponseData: (_controller, bytes) => {
          const text = bytes.toString('latin1');
          parts.push(text);
          if (!stream || firstTokenMs !== undefined) return;
          const at = text.indexOf('@');
          if (at !== -1) firstTokenMs = now() - Number(text.slice(at + 1, text.indexOf('@', at + 1)));
        },
        onResponseEnd: () => {
          const ms = now() - began;
          const text = parts.join('');
          const isWhole = stream ? text.endsWith('data: [DONE]\n\n') : text.endsWith('}');
          if (status === 200 && isWhole && text.includes(mark)) resolve({ ms, firstTokenMs });
          else reject(new Error(`status ${status}: ${text.slice(-300)}`));
        },
        onResponseError: (_controller, error) => reject(error),
      },
    );
  });
}

async function carryOut(order: Order): Promise<Taken> {
  const { url, size, stream, atOnce, ms } = order;
  const key = `${url} ${atOnce}`;
  const pool = pools.get(key) ?? new Pool(url, { connections: atOnce });
  pools.set(key, pool);
  const body = requestBody(size, stream);
  const heard: Heard[] = [];
  const began = now();
  const worker = async () => {
    while (now() < began + ms) {
      asked += 1;
      const own = order.isVaried ? body.replace('some rice', `${asked} bags of rice`) : body;
      heard.push(await ask(pool, own, order));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return {
    answers: heard.length,
    seconds: (now() - began) / 1000,
    latencies: heard.map((one) => one.ms),
    firstTokens: heard.flatMap(({ firstTokenMs }) => firstTokenMs ?? []),
  };
}

process.on('message', async (order: Order) => {
  const reply: Reply = await carryOut(order).then(
    (taken) => ({ taken }),
    (error: Error) => ({ error: error.message }),
  );
  process.send!(reply);
});
process.on('disconnect', () => process.exit(0));
