import type { Judge } from '../../services/judge/judges/judge.ts';
import { type LoopOptions, openLoop } from '../bench/learning/loop.ts';
import type { LearningModel } from '../bench/learning/model.ts';
import type { OpenWorld } from './world.ts';

/** The loop of the learning curves: no HTTP, no disk, no clock. */
export const quickWorld =
  (model: LearningModel, judge: Judge, settings: LoopOptions['settings']): OpenWorld =>
  async ({ seed, learning }, onEvent) => {
    const loop = openLoop(model, { method: learning ? 'combine' : 'none', seed, settings, judge, onEvent });
    return {
      client: { ask: loop.answer, rate: async (id, score) => loop.rate(id, score) },
      settle: loop.settle,
      served: loop.served,
      answers: async (questions) => loop.ask(questions).map(({ text }) => text),
      klToBase: async () => loop.figures().klToBase ?? null,
      close: loop.close,
    };
  };
