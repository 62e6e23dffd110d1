/** One in seven wordings is held out from training. */
const every = 7;

/** Whether a wording is held out. Decided by FNV-1a of its text (32 bits), so that no seed changes it. */
export function isHeldOut(text: string): boolean {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) value = Math.imul(value ^ byte, 0x01000193) >>> 0;
  return value % every === 0;
}
