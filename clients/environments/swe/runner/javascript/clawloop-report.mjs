// A reporter of Node's test runner that writes a line for each test: PASS or FAIL, its id, and its message.
import { relative } from 'node:path';

// biome-ignore lint/style/noDefaultExport: the test runner takes the default export
export default async function* report(events) {
  const names = [];
  for await (const { type, data } of events) {
    if (type === 'test:start') names[data.nesting] = data.name;
    if ((type !== 'test:pass' && type !== 'test:fail') || data.skip !== undefined || data.todo !== undefined)
      continue;
    if (data.details?.type === 'suite') continue;
    const path = [...names.slice(0, data.nesting), data.name].join(' > ');
    const id = ascii(`${relative(process.cwd(), data.file ?? '')}: ${path}`);
    const error = data.details?.error;
    const message = String(error?.cause?.message ?? error?.message ?? '').slice(0, 2000);
    yield type === 'test:pass' ? `PASS ${id}\n` : `FAIL ${id} ${ascii(message)}\n`;
  }
}

/** A JSON string in ASCII. */
const ascii = (text) =>
  JSON.stringify(text).replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
