import { expect, test } from 'vitest';
import { describe } from '../../../services/cli/sessions/inspect.ts';
import { inspectSession } from '../../../services/cli/sessions/inspection.ts';
import { interaction, judgment, user } from '../../../services/collector/testing/events.ts';
import { turnCompleted, voteCast } from '../../../services/judge/testing/events.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { topicOf } from '../../../shared/events/parse-event.ts';
import { trainingStory } from '../exports/training-story.ts';

/** The turns of the session `s` are those of the training story. */
function inspected(more: readonly ClawLoopEvent[] = []) {
  const ids = ['default-1-1', 'default-1-2'];
  const events = [
    ...ids.map((id) =>
      interaction({
        id,
        messages: [user(`question ${id}`)],
        answer: 'Use token ghp_0123456789abcdefghijABCDEFGHIJ012345.',
      }),
    ),
    ...ids.map((id) => turnCompleted(id)),
    voteCast(ids[0]!, 0, -1, 'No lists, please.'),
    voteCast(ids[0]!, 0, -1, 'No lists, please.'), // a copy
    judgment(ids[0]!, -1, { hints: ['No lists, please.'] }),
    ...trainingStory(),
    ...more,
  ];
  const collected = inspectSession('s');
  for (const [offset, event] of events.entries())
    collected.on({ event, at: { partition: 0, offset }, time: 0 }, topicOf(event));
  return collected.result();
}

test('a session shows its turns, and the outcome of each up to the version', () => {
  const lines = describe(inspected(), false);
  expect(lines).toEqual([
    'session   s',
    '',
    expect.stringMatching(/^turn 1 {4}default-1-1, v0, .*, conversation$/),
    '  request   question default-1-1',
    expect.stringMatching(/^ {2}answer {4}Use token (?!ghp_)/),
    '  reaction  Perfect, thanks!',
    '  vote      -1 by test: No lists, please.',
    expect.stringMatching(/^ {2}verdict {3}-1 by votes/),
    '  hint      No lists, please.',
    '  sample    ready, verdict -1 by votes, in default/batch/1',
    '  outcome   trained in v1',
    '',
    expect.stringMatching(/^turn 2 {4}default-1-2/),
    '  request   question default-1-2',
    expect.stringMatching(/^ {2}answer/),
    '  reaction  Perfect, thanks!',
    '  verdict   none yet',
    '  sample    ready, verdict 1 by votes, in default/batch/1',
    '  outcome   trained in v1',
    '',
    'batch     default/batch/1: 2 of its 3 samples, on v0',
    '  version   v1 promoted, 1.5 s, loss 0.5, klToBase 0.0125',
    'head      default: v1 answers now',
  ]);
});

test('every event of a turn has its place in the log', () => {
  const [first] = inspected().turns;
  expect(first!.records).toEqual([
    'interaction.completed conversations/0/0',
    'turn.completed turns/0/2',
    'vote.cast turns/0/4',
    'vote.cast turns/0/5',
    'judgment.reached turns/0/6',
    'sample.ready training/0/7',
  ]);
});

test('an unknown session has no turns', () => {
  expect(inspectSession('other').result()).toMatchObject({ turns: [], batches: [], ends: [] });
});
