import type { Command } from '../command.ts';
import { runChild } from '../run-child.ts';
import { type ServiceName, serviceEntry, serviceNames } from '../service-entry.ts';

const about: Readonly<Record<ServiceName, string>> = {
  serving: 'answers chats; follows the head of the policy',
  collector: 'makes sessions, turns, samples and batches of what was said',
  judge: 'judges every turn by what happened next',
  trainer: 'trains the open batch of each adapter, one at a time',
};

/** Each service alone, as a child process; its own flags, `--help` included, pass through. */
export const services: readonly Command[] = serviceNames.map((name) => ({
  name,
  usage: '[options]',
  about: about[name],
  helps: true,
  run: (argv) => runChild(serviceEntry(name), argv),
}));
