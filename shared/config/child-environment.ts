/** Of the system and of Node: paths, language, time zone, certificates. No setting of ClawLoop, and no secret. */
const needed =
  /^(?:PATH|HOME|TMPDIR|TZ|LANG|LC_\w+|NODE_OPTIONS|NODE_EXTRA_CA_CERTS|NODE_COMPILE_CACHE|SSL_CERT_\w+)$/;

/**
 * Environment of a program that a service starts: what every program needs, and the given variables. Settings and
 * secrets of the service, and of others on this machine, stay out.
 */
export const childEnvironment = (
  given: Readonly<Record<string, string>>,
  env: NodeJS.ProcessEnv = process.env,
): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(env).filter(([name]) => needed.test(name))),
  ...given,
});
