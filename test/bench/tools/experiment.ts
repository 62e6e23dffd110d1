/** A question of an experiment; one line of a rollout's data. */
export type Question = { readonly id: string; readonly question: string };

/** An experiment in which claw-nano learns to use the tools of an MCP server. */
export type Experiment<Task extends Question = Question> = {
  readonly name: 'routing' | 'calls';
  /** folder under examples/ with the MCP server and the reward */
  readonly example: string;
  /** `--agent` of the rollout */
  readonly agent: string;
  /** flags of `clawloop up` */
  readonly flags: readonly string[];
  /** the questions of a seed: those to learn from, and those to measure with */
  readonly split: (seed: number) => { readonly training: readonly Task[]; readonly heldOut: readonly Task[] };
  /** the share of held-out questions that a version gets right */
  shareRight(url: string, version: number, heldOut: readonly Task[]): Promise<number>;
  /** description of the share, for the plot */
  readonly measured: string;
};
