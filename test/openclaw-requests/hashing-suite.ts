import { describe, expect, test } from 'vitest';
import { normalisedSystemText } from '../../shared/chat/normalise.ts';
import { rollingHashes } from '../../shared/chat/rolling-hash.ts';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import { cutIndex, FEWEST_TRIES, type OpenClawRequests, type ScenarioName } from './requests.ts';

const lastHash = (messages: readonly ChatMessage[]) => rollingHashes(messages).at(-1)!;

/** How the histories in OpenClaw's requests hang together. `load` is called when a test runs. */
export function hashingSuite(name: string, load: () => OpenClawRequests): void {
  const histories = (scenario: ScenarioName) => load()[scenario].requests.map(({ body }) => body.messages);

  describe(name, () => {
    test('each request of a tool loop continues the request before it', () => {
      const requests = histories('tool-loop');
      expect(requests).toHaveLength(3);
      for (const [index, messages] of requests.slice(1).entries()) {
        expect(rollingHashes(messages)).toContain(lastHash(requests[index]!));
      }
    });

    test('replayed reasoning and rewritten dates break no conversation', () => {
      const [first, second] = histories('cut-history').slice(cutIndex(load()['cut-history']));
      expect(second!.some(({ reasoning_content: reasoning }) => reasoning !== undefined)).toBe(true);
      expect(rollingHashes(second!)).toContain(lastHash(first!));
    });

    test('all retries of a request are the same request', () => {
      const requests = histories('retries');
      expect(requests.length).toBeGreaterThanOrEqual(FEWEST_TRIES);
      expect(new Set(requests.map(lastHash)).size).toBe(1);
      expect(new Set(requests.map(normalisedSystemText)).size).toBe(1);
    });

    test('a subagent is another conversation than its parent, which goes on', () => {
      const [parent, afterSpawn, child, announce] = histories('subagent');
      expect(rollingHashes(afterSpawn!)).toContain(lastHash(parent!));
      expect(rollingHashes(announce!)).toContain(lastHash(afterSpawn!));
      expect(rollingHashes(child!)).not.toContain(lastHash(parent!));
    });
  });
}
