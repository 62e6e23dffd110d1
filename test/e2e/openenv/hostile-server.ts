import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';

/** What the server does with a text message; `send` sends one back. */
type Behaviour = {
  readonly onMessage: (
    message: { readonly type: string },
    send: (reply: object) => void,
    nth: number,
  ) => void;
  /** the handshake of a socket gets no answer */
  readonly hangsAtHandshake?: boolean;
  /** a close frame gets no answer, and the connection stays */
  readonly ignoresClose?: boolean;
  readonly onOpen?: (send: (reply: object) => void) => void;
  /** the connection breaks at messages of this type, while the server continues */
  readonly breaksAt?: string;
};

/** ends a handshake of RFC 6455 */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** A server with the addresses of an OpenEnv server that takes text, and with behaviour that no real one has. */
export async function hostileOpenEnv(behaviour: Behaviour) {
  const [sockets, ended] = [new Set<Duplex>(), new Set<Duplex>()];
  const server = createServer((_, response) =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end('{"action":{"properties":{"text":{"type":"string"}},"required":["text"]}}'),
  );
  server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
    sockets.add(socket);
    const forget = () => ended.add(socket);
    socket
      .on('end', forget)
      .on('close', forget)
      .on('error', () => {});
    if (behaviour.hangsAtHandshake) return;
    const accept = createHash('sha1')
      .update(request.headers['sec-websocket-key'] + GUID)
      .digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    const send = (reply: object) => socket.write(frameOf(JSON.stringify(reply)));
    behaviour.onOpen?.(send);
    let nth = 0;
    socket.on('data', (data: Buffer) => {
      const { isClose, text } = readFrame(data);
      if (isClose) {
        if (!behaviour.ignoresClose) socket.end(Buffer.from([0x88, 0]));
        return;
      }
      const message = JSON.parse(text) as { readonly type: string };
      if (message.type === behaviour.breaksAt) socket.destroy();
      else behaviour.onMessage(message, send, nth++);
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** connections that the client has not ended */
    open: () => sockets.size - ended.size,
    kill: async () => {
      for (const socket of sockets) socket.destroy();
      const closed = new Promise((done) => server.close(done));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** An observation, as a reply to `reset` or `step`. */
export const shows = (prompt: string, more: object = {}) => ({
  type: 'observation',
  data: { observation: { prompt }, reward: null, done: false, ...more },
});

/** One text frame of at most 65,535 bytes. */
function frameOf(text: string): Buffer {
  const payload = Buffer.from(text);
  const head =
    payload.length < 126
      ? Buffer.from([0x81, payload.length])
      : Buffer.from([0x81, 126, payload.length >> 8, payload.length & 255]);
  return Buffer.concat([head, payload]);
}

/** One masked frame of a client; requests are shorter than 65,536 bytes. */
function readFrame(data: Buffer): { readonly isClose: boolean; readonly text: string } {
  const isLong = (data[1]! & 127) === 126;
  const start = isLong ? 4 : 2;
  const length = isLong ? data.readUInt16BE(2) : data[1]! & 127;
  const mask = data.subarray(start, start + 4);
  const payload = data.subarray(start + 4, start + 4 + length).map((byte, index) => byte ^ mask[index % 4]!);
  return { isClose: (data[0]! & 15) === 8, text: Buffer.from(payload).toString() };
}
