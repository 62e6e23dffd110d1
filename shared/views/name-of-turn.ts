/** The names of votes and samples begin with the id of their turn. The rest is the same for many turns, and short. */
export const withoutId = (name: string, id: string): string =>
  name.startsWith(id) ? `+${name.slice(id.length)}` : `=${name}`;
export const withId = (name: string, id: string): string =>
  name.startsWith('+') ? id + name.slice(1) : name.slice(1);
