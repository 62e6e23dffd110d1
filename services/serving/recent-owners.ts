export type RecentOwners = {
  readonly remember: (completionId: string, keyId: string) => void;
  /** Undefined: not given by this process, or long ago. */
  readonly ownerOf: (completionId: string) => string | undefined;
};

/**
 * Which key got which of the latest answers: enough to refuse feedback on another key's answer at the
 * door.
 */
export function createRecentOwners(most = 20_000): RecentOwners {
  const owners = new Map<string, string>();
  return {
    remember: (completionId, keyId) => {
      owners.set(completionId, keyId);
      if (owners.size > most) owners.delete(owners.keys().next().value!);
    },
    ownerOf: (completionId) => owners.get(completionId),
  };
}
