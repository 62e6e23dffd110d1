// A chat in the terminal: node examples/chat.js [http://127.0.0.1:8700] [ACCESS_KEY]
// Each answer shows the version of the model that gave it, so you see when a new one goes live.
import { createInterface } from 'node:readline';

const [server = 'http://127.0.0.1:8700', key = 'any'] = process.argv.slice(2);
const messages = [];

process.stdout.write('you> ');
for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim() !== '') await ask(line);
  process.stdout.write('you> ');
}
console.log();

async function ask(content) {
  const answer = await complete([...messages, { role: 'user', content }]);
  if (answer.error) return console.log(`error: ${answer.error.message}`);
  const text = answer.choices[0].message.content;
  messages.push({ role: 'user', content }, { role: 'assistant', content: text });
  console.log(`v${answer.clawloop.version}>  ${text}`);
}

async function complete(sent) {
  try {
    const response = await fetch(`${server}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'clawloop', messages: sent }),
    });
    return await response.json();
  } catch {
    return {
      error: { message: `no ClawLoop answers at ${server}. Wait until \`npm start\` says that it is ready.` },
    };
  }
}
