import type { IForbiddenRuleType } from 'dependency-cruiser';

// Forbidden imports. Paths are regular expressions for files, relative to the repository root; `$1` stands for
// the first group of `from.path`. A rule sees the file that an import resolves to, however the import is written.

/** Tests and their helpers. They may also import `test/`. */
const tests = String.raw`\.test\.ts$|/testing/`;

/** A package, whether it is installed or not. */
const packages = (...names: readonly string[]): string => `(^|node_modules/)(${names.join('|')})(/|$)`;

export const rules: IForbiddenRuleType[] = [
  {
    name: 'service',
    comment: 'a service imports shared/* and itself, never another service',
    severity: 'error',
    from: { path: '^services/([^/]+)/', pathNot: '^services/cli/' },
    to: { path: '^(services|clients|infra|examples)/', pathNot: '^services/$1/' },
  },
  {
    name: 'cli',
    comment: 'services/cli imports shared/*, clients/* and itself; its first file also imports infra/runtime',
    severity: 'error',
    from: { path: '^services/cli/' },
    to: { path: '^(services|infra|examples)/', pathNot: '^(services/cli|infra/runtime)/' },
  },
  {
    name: 'clients',
    comment: 'clients/* import shared/* and themselves',
    severity: 'error',
    from: { path: '^clients/' },
    to: { path: '^(services|infra|examples)/' },
  },
  {
    name: 'shared',
    comment: 'shared/* imports nothing from services, clients, infra or examples',
    severity: 'error',
    from: { path: '^shared/' },
    to: { path: '^(services|clients|infra|examples)/' },
  },
  {
    name: 'events',
    comment: 'shared/events imports zod and itself',
    severity: 'error',
    from: { path: '^shared/events/', pathNot: tests },
    to: { pathNot: `^shared/events/|${packages('zod')}` },
  },
  {
    name: 'policy',
    comment: 'shared/policy imports no log, queue, service runtime or HTTP',
    severity: 'error',
    from: { path: '^shared/policy/' },
    to: { path: `^shared/(log|queue|runtime)/|${packages('fastify', '@fastify', 'undici')}` },
  },
  {
    name: 'json-grammar',
    comment: 'shared/json-grammar imports no other file of this repository',
    severity: 'error',
    from: { path: '^shared/json-grammar/', pathNot: tests },
    to: { path: '^(shared|services|clients|infra|examples|test)/', pathNot: '^shared/json-grammar/' },
  },
  {
    name: 'product-without-tests',
    comment: 'only tests import test/* and test helpers',
    severity: 'error',
    from: { path: '^(services|shared|clients)/', pathNot: tests },
    to: { path: `^test/|${tests}` },
  },
  {
    name: 'resolved',
    comment: 'every import leads to a file, a package of package.json or a module of Node',
    severity: 'error',
    from: {},
    to: { couldNotResolve: true },
  },
  {
    name: 'no-circle',
    comment: 'imports form no circle, except through types',
    severity: 'error',
    from: {},
    to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
  },
];
