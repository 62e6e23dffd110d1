const MOST_KEPT = 16;

/**
 * Makes something of what is asked for once, and keeps what was made of late. `ask` is told apart by its
 * JSON.
 */
export function keepLatest<Ask, Made>(make: (ask: Ask) => Made): (ask: Ask) => Made {
  const kept = new Map<string, Made>();
  return (ask) => {
    const key = JSON.stringify(ask);
    const made = kept.get(key) ?? make(ask);
    kept.delete(key);
    kept.set(key, made); // the latest stands last
    if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value!);
    return made;
  };
}
