import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { Topic } from '../../../shared/events/define-event.ts';
import { clawloop } from '../harness/clawloop.ts';

/** The facts of one type in the log of a data folder, as `clawloop topics tail` shows them. */
export async function tailed<Event extends ClawLoopEvent>(
  folder: string,
  topic: Topic,
  type: Event['type'],
): Promise<readonly Event[]> {
  const argv = ['topics', 'tail', topic, '--type', type, '--json', '--data-folder', folder];
  const { stdout } = await clawloop(argv);
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as { readonly event: Event }).event);
}
