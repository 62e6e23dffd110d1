import { catalogue } from '../../shared/events/catalogue.ts';
import { topics } from '../../shared/events/define-event.ts';
import { formatTable } from './table.ts';

/** The catalogue for a terminal: every topic and every fact in it. */
export function describeCatalogue(): string {
  return topics
    .map((topic) => {
      const rows = catalogue
        .filter((definition) => definition.topic === topic)
        .map(({ type, version, writtenBy, about }) => [type, `v${version}`, writtenBy, about]);
      return `${topic}\n\n${formatTable(['fact', '', 'written by', 'what is true then'], rows)}`;
    })
    .join('\n\n');
}
