/** A list separated by commas. */
export const listOf = (text: string): readonly string[] => text.split(',').map((part) => part.trim());

/** Settings by name, from a text such as `learningRate=2e-2,teacher=base`; numeric values become numbers. */
export const settingsOf = (text: string): Readonly<Record<string, string | number>> =>
  Object.fromEntries(
    listOf(text)
      .filter((pair) => pair !== '')
      .map((pair) => pair.split('=') as [string, string])
      .map(([name, value]) => [name, Number.isNaN(Number(value)) ? value : Number(value)]),
  );
