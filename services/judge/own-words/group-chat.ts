/** Ends the first line of each block that OpenClaw puts around what was written in a channel. */
const mark = '⟦openclaw:ctx⟧';
/** Members of a block's JSON that only a message of a group has. */
const ofGroup =
  /"(?:is_group(?:_chat)?"\s{0,4}:\s{0,4}true|group_\w{1,30}"\s{0,4}:\s{0,4}"[^"]|chat_type"\s{0,4}:\s{0,4}"(?:group|channel|supergroup)")/;

/**
 * Whether a message comes from a group, as the blocks say that OpenClaw puts before it: then any of its
 * members may have written it, and not the person whose agent this is.
 */
export function tellsOfGroup(text: string): boolean {
  const first = text.indexOf(mark);
  return first !== -1 && ofGroup.test(text.slice(first));
}
