/** `Members` without its undefined members: a member that may be undefined becomes optional. */
type Defined<Members> = {
  [Name in keyof Members as undefined extends Members[Name] ? never : Name]: Members[Name];
} & {
  [Name in keyof Members as undefined extends Members[Name] ? Name : never]?: Exclude<
    Members[Name],
    undefined
  >;
};

/**
 * An object without its undefined members, in the order given. Under `exactOptionalPropertyTypes` an optional
 * member may be absent but not undefined: `{ model, ...defined({ seed, stop }) }`.
 */
export function defined<const Members extends object>(members: Members): Defined<Members> {
  const kept: Partial<Members> = {};
  for (const name in members) if (members[name] !== undefined) kept[name] = members[name];
  return kept as unknown as Defined<Members>;
}
