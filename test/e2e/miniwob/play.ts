import type { EnvironmentDriver, OpenEnvironment } from '../../../clients/environments/environment.ts';
import { miniWobDriver } from '../../../clients/environments/miniwob/driver.ts';
import { pagesFolder } from './install.ts';
import { readObservation, solvers } from './solvers.ts';

const { signal } = new AbortController();

/** A driver with its own browser. */
export const driverHere = (place = pagesFolder, actLimitMs = 60_000): EnvironmentDriver =>
  miniWobDriver({ place, browser: undefined, actLimitMs });

export const open = (driver: EnvironmentDriver, task: object): Promise<OpenEnvironment> =>
  driver.open(task, { id: 'test', seed: 0, signal });

let actions = 0;
export const act = (environment: OpenEnvironment, name: string, given: object) =>
  environment.act({ id: `action-${actions++}`, name, arguments: { ...given } }, signal);

/** The observations of a solver, and its reward. */
export type Played = {
  readonly seen: readonly { readonly content: string; readonly stateKey: string | undefined }[];
  readonly reward: number;
};

const MOST_STEPS = 30;

/** Solves a page with its solver, which gets the observations of a policy. */
export async function play(driver: EnvironmentDriver, page: string, seed: number): Promise<Played> {
  const environment = await open(driver, { page, seed });
  try {
    const seen: { content: string; stateKey: string | undefined }[] = [
      { content: environment.messages[0]!.content, stateKey: undefined },
    ];
    for (let isDone = false; !isDone && seen.length <= MOST_STEPS; ) {
      const { goal, lines } = readObservation(seen.at(-1)!.content);
      const call = solvers[page]!(goal, lines);
      const observation = await act(environment, call.name, call.arguments);
      if (observation.isError) throw new Error(`${page} ${seed}: ${observation.content}`);
      seen.push({ content: observation.content, stateKey: observation.stateKey });
      isDone = observation.isDone;
    }
    return { seen, reward: (await environment.evaluate(signal)).reward! };
  } finally {
    await environment.close();
  }
}
