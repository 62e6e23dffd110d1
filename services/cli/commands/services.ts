import type { Command } from '../command.ts';
import { runChild } from '../run-child.ts';
import { type ServiceName, serviceEntry, serviceNames } from '../service-entry.ts';

const about: Readonly<Record<ServiceName, string>> = {
  serving: 'run serving: answer chats with the head of the policy',
  collector: 'run the collector: make sessions, turns, samples and batches',
  judge: 'run the judge: judge every turn by what happened next',
  trainer: 'run the trainer: train the open batches, one at a time',
  console: 'run the console: a web page that shows turns, versions and the state of the system',
};

/** Each service as a child process. Its own flags, including `--help`, pass through. */
export const services: readonly Command[] = serviceNames.map((name) => ({
  name,
  usage: '[options]',
  about: about[name],
  helps: true,
  run: (argv) => runChild(serviceEntry(name), argv),
}));
