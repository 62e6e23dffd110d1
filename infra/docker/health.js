// Exit 0 when the service in this container can do its work, else 1 with what it lacks. One container holds
// one service, on its default port unless another is told: `node health.js [PORT]`.
const [port] = process.argv.slice(2);
const ports = port === undefined ? [8700, 8701, 8702, 8703] : [port];

const ask = async (one) => {
  const answer = await fetch(`http://127.0.0.1:${one}/readyz`, { signal: AbortSignal.timeout(4_000) });
  return { ready: answer.ok, text: await answer.text() };
};

const answers = await Promise.allSettled(ports.map(ask));
const found = answers.find(({ status }) => status === 'fulfilled')?.value;
console.log(found?.text ?? `nothing answers on port ${ports.join(', ')}`);
process.exitCode = found?.ready ? 0 : 1;
