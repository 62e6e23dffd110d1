/** The partition of a subject: FNV-1a, 32 bits, over UTF-8. Fixed for a given number of partitions. */
export function partitionOf(subject: string, partitions: number): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < subject.length; at += 1) {
    const code = subject.charCodeAt(at);
    if (code > 127) return overBytes(subject, partitions);
    hash = Math.imul(hash ^ code, 0x01000193);
  }
  return (hash >>> 0) % partitions;
}

function overBytes(subject: string, partitions: number): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(subject, 'utf8')) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0) % partitions;
}
