import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire, stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';

const folder = fileURLToPath(new URL('../page/', import.meta.url));
const require = createRequire(import.meta.url);

type PageFile = { readonly type: string; readonly body: string; readonly etag: string };

const types = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
} as const;

/** The files of packages that the page imports, by the address under which the page finds them. */
const packages: Readonly<Record<string, { readonly file: string; readonly specifier?: string }>> = {
  '/lib/lit-html.js': { file: 'lit-html/lit-html.js', specifier: 'lit-html' },
  '/lib/directive.js': { file: 'lit-html/directive.js' },
  '/lib/directive-helpers.js': { file: 'lit-html/directive-helpers.js' },
  '/lib/directives/repeat.js': {
    file: 'lit-html/directives/repeat.js',
    specifier: 'lit-html/directives/repeat.js',
  },
  '/lib/directives/live.js': {
    file: 'lit-html/directives/live.js',
    specifier: 'lit-html/directives/live.js',
  },
  '/lib/uplot.js': { file: 'uplot/dist/uPlot.esm.js', specifier: 'uplot' },
  '/lib/uplot.css': { file: 'uplot/dist/uPlot.min.css' },
  '/lib/eventsource-parser/index.js': {
    file: 'eventsource-parser/dist/index.js',
    specifier: 'eventsource-parser',
  },
  '/lib/eventsource-parser/errors.js': { file: 'eventsource-parser/dist/errors.js' },
  '/lib/eventsource-parser/parse.js': { file: 'eventsource-parser/dist/parse.js' },
};

const importMap = JSON.stringify({
  imports: Object.fromEntries(
    Object.entries(packages).flatMap(([path, { specifier }]) =>
      specifier === undefined ? [] : [[specifier, path]],
    ),
  ),
});

const digest = (text: string) => createHash('sha256').update(text).digest('base64');

/**
 * No script but the files of this server, and the import map by its digest. Trusted Types refuse innerHTML with any
 * text but the templates of lit-html, so a text from a conversation can never become markup.
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  `script-src 'self' 'sha256-${digest(importMap)}'`,
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types lit-html',
].join('; ');

const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': contentSecurityPolicy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=()',
};

/** The page and its modules. Types are stripped once, at start, so there is no build step. */
export function registerPage(server: FastifyInstance): void {
  server.addHook('onRequest', async (_request, reply) => void reply.headers(securityHeaders));
  for (const [path, file] of pageFiles()) {
    server.get(path, async (request, reply) => {
      void reply.header('etag', file.etag).header('cache-control', 'no-cache');
      if (request.headers['if-none-match'] === file.etag) return reply.code(304).send();
      return reply.type(file.type).send(file.body);
    });
  }
  // browsers ask for it unasked
  server.get('/favicon.ico', async (_request, reply) => reply.code(204).send());
}

function pageFiles(): ReadonlyMap<string, PageFile> {
  const files = new Map<string, PageFile>();
  const add = (path: string, type: keyof typeof types, body: string) =>
    files.set(path, { type: types[type], body, etag: `"${digest(body).slice(0, 20)}"` });
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  add('/', 'html', read('index.html').replace('{ "imports": {} }', importMap));
  add('/console.css', 'css', read('console.css'));
  for (const name of readdirSync(folder))
    if (name.endsWith('.ts') && !name.endsWith('.test.ts'))
      add(`/${name}`, 'js', stripTypeScriptTypes(read(name), { mode: 'strip' }));
  for (const [path, { file }] of Object.entries(packages)) {
    const body = readFileSync(locate(file), 'utf8').replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n');
    add(path, path.endsWith('.css') ? 'css' : 'js', body);
  }
  return files;
}

/** A file of a package, also of one whose `exports` do not name it. */
function locate(file: string): string {
  const [name = '', ...rest] = file.split('/');
  const entry = require.resolve(name);
  const root = entry.slice(0, entry.lastIndexOf(`${name}/`) + name.length);
  return join(dirname(root), name, ...rest);
}
