/** Works of one name run one after the other, in the order in which they came; others do not wait. */
export type InTurn = <Result>(name: string, work: () => Promise<Result>) => Promise<Result>;

export function createInTurn(): InTurn {
  const last = new Map<string, Promise<unknown>>();
  return async (name, work) => {
    const before = last.get(name) ?? Promise.resolve();
    const mine = before.then(work, work);
    last.set(name, mine);
    try {
      return await mine;
    } finally {
      if (last.get(name) === mine) last.delete(name);
    }
  };
}
