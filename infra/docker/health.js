// Exits with 0 if the service in this container is ready, otherwise with 1 and the reason. A container runs one
// service, on its default port unless given: `node health.js [PORT]`.
const [port] = process.argv.slice(2);
const ports = port === undefined ? [8700, 8701, 8702, 8703, 8704] : [port];

const ask = async (candidate) => {
  const answer = await fetch(`http://127.0.0.1:${candidate}/readyz`, { signal: AbortSignal.timeout(4_000) });
  return { ready: answer.ok, text: await answer.text() };
};

const answers = await Promise.allSettled(ports.map(ask));
const reply = answers.find(({ status }) => status === 'fulfilled')?.value;
console.log(reply?.text ?? `nothing answers on port ${ports.join(', ')}`);
process.exitCode = reply?.ready ? 0 : 1;
