import { catalogue } from '../../shared/events/catalogue.ts';
import { topics } from '../../shared/events/define-event.ts';
import { formatTable } from '../../shared/runtime/table.ts';

/** The event catalogue for a terminal, by topic. */
export function describeCatalogue(): string {
  return topics
    .map((topic) => {
      const rows = catalogue
        .filter((definition) => definition.topic === topic)
        .map(({ type, version, writtenBy, about }) => [type, `v${version}`, writtenBy, about]);
      return `${topic}\n\n${formatTable(['event', '', 'written by', 'meaning'], rows)}`;
    })
    .join('\n\n');
}
