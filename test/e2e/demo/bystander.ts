import { setTimeout as delay } from 'node:timers/promises';
import OpenAI from 'openai';

export type Gap = {
  /** from the request to the last byte, ms since the start of the run */
  readonly from: number;
  readonly to: number;
  readonly firstTokenMs: number;
  readonly longestGapMs: number;
  readonly failed: boolean;
  readonly versions: number;
};

/** ms between two streams */
const PAUSE_MS = 100;

/**
 * Another person who chats all the time, one stream after the other, to measure the cost of a step or a swap for all
 * users. The turns are marked as side turns, so that they do not train.
 */
export function startBystander(url: string, startedAt: number) {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
  const stop = new AbortController();
  const gaps: Gap[] = [];
  const loop = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      gaps.push(await watchOne(client, startedAt));
      await delay(PAUSE_MS, undefined, { signal: stop.signal }).catch(() => {});
    }
  };
  const running = loop();
  return {
    stop: async (): Promise<readonly Gap[]> => {
      stop.abort();
      await running;
      return gaps;
    },
  };
}

async function watchOne(client: OpenAI, startedAt: number): Promise<Gap> {
  const asked = performance.now();
  let last = asked;
  let firstTokenMs: number | undefined;
  let longestGapMs = 0;
  let finished = false;
  const versions = new Set<number>();
  try {
    const stream = await client.chat.completions.create(
      {
        model: 'clawloop',
        messages: [{ role: 'user', content: 'How do I make a good cup of tea?' }],
        stream: true,
        max_tokens: 60,
      },
      { headers: { 'x-turn-type': 'side' } },
    );
    for await (const chunk of stream) {
      const version = (chunk as { clawloop?: { version?: number } }).clawloop?.version;
      if (version !== undefined) versions.add(version);
      finished ||= chunk.choices[0]?.finish_reason != null;
      if (!chunk.choices[0]?.delta.content) continue;
      const now = performance.now();
      if (firstTokenMs === undefined) firstTokenMs = now - asked;
      else longestGapMs = Math.max(longestGapMs, now - last);
      last = now;
    }
  } catch {
    finished = false;
  }
  return {
    from: asked - startedAt,
    to: performance.now() - startedAt,
    firstTokenMs: firstTokenMs ?? performance.now() - asked,
    longestGapMs,
    failed: !finished,
    versions: versions.size,
  };
}
