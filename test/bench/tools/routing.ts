import { shareRouted } from './evaluate-routing.ts';
import type { Experiment } from './experiment.ts';
import { exampleFile, type RoutingQuestion, splitQuestions } from './routing-questions.ts';
import { routingFlags } from './settings.ts';

/** claw-nano chooses one of four tools by `guided_choice`. */
export const routing: Experiment<RoutingQuestion> = {
  name: 'routing',
  example: 'tool-routing',
  agent: exampleFile('agent.ts'),
  flags: routingFlags,
  split: splitQuestions,
  shareRight: shareRouted,
  measured: 'share of held-out questions that go to the right tool',
};
