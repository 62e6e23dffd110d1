import { expect, test } from 'vitest';
import { test as command } from './test.ts';

test.each([
  [['rollout', '--data-folder', 'x'], 'it takes no --data-folder'],
  [['rollout', '--kafka-brokers=h:1'], 'it takes no --kafka-brokers'],
  [['rollout', '--colour', 'red'], "Unknown option '--colour'"],
  [['rollout', '--wait', 'long'], 'a number of seconds'],
  [['dance'], "unknown action 'dance'"],
])('%j is refused before anything starts', async (argv, message) => {
  await expect(command.run(argv)).rejects.toThrow(message);
});
