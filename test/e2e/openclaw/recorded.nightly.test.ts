import { beforeAll, expect, test } from 'vitest';
import { attributionSuite } from '../../openclaw-requests/attribution-suite.ts';
import { builtRequests } from '../../openclaw-requests/built-requests.ts';
import { hashingSuite } from '../../openclaw-requests/hashing-suite.ts';
import { judgingSuite } from '../../openclaw-requests/judging-suite.ts';
import { loopSuite } from '../../openclaw-requests/loop-suite.ts';
import { cutIndex, type OpenClawRequests, type ScenarioName } from '../../openclaw-requests/requests.ts';
import { servingSuite } from '../../openclaw-requests/serving-suite.ts';
import { describeWithOpenClaw } from './describe-with-openclaw.ts';
import { recordOpenClaw } from './recorder/record.ts';

describeWithOpenClaw('what the real OpenClaw sends', () => {
  let recorded: OpenClawRequests;
  beforeAll(async () => {
    recorded = await recordOpenClaw((line) => process.stderr.write(`${line}\n`));
  });
  const load = () => recorded;

  attributionSuite('attribution', load);
  hashingSuite('hashes', load);
  judgingSuite('judging', load);
  servingSuite('serving', load);
  loopSuite('the whole loop', load);

  test('has the shape that the default tests build', () => {
    const built = builtRequests();
    for (const name of ['first-turn', 'tool-loop', 'subagent', 'qwen-plugin'] as const)
      expect({ name, shapes: shapesOf(recorded, name) }).toEqual({ name, shapes: shapesOf(built, name) });
    for (const name of ['retries', 'cut-history'] as const) {
      // OpenClaw decides about the number of retries and the length of the loop
      const last = (all: OpenClawRequests) => shapesOf(all, name).slice(-1);
      expect({ name, shapes: last(recorded).map(withoutRounds) }).toEqual({
        name,
        shapes: last(built).map(withoutRounds),
      });
    }
    expect(cutIndex(recorded['cut-history'])).toBeGreaterThan(2);
  });
});

type Shape = {
  readonly outcome: string;
  readonly fields: readonly string[];
  readonly messages: readonly string[];
};

/** The shape of requests, without all words. */
const shapesOf = (all: OpenClawRequests, name: ScenarioName): readonly Shape[] =>
  all[name].requests.map(({ outcome, body }) => ({
    outcome,
    fields: Object.keys(body).sort(),
    messages: body.messages.map(({ role, content, ...more }) => {
      const kind = Array.isArray(content) ? `${content.length} part` : content === null ? 'null' : 'text';
      return [role, kind, ...Object.keys(more).sort()].join(' ');
    }),
  }));

/** Without the tool calls at the beginning of a history that was cut. */
const withoutRounds = ({ messages, ...rest }: Shape): Shape => ({
  ...rest,
  messages: messages.filter((message) => !message.includes('tool_call')),
});
