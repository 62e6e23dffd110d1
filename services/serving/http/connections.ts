import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** The connections of a server. */
export type Connections = {
  readonly open: ReadonlySet<Socket>;
  /** A whole request came and is being answered: it is not closed to make room. */
  readonly began: (socket: Socket) => void;
  readonly ended: (socket: Socket) => void;
};

/**
 * Keeps a server to so many connections. For one more, the oldest that waits for no answer is closed: who opens many
 * and sends nothing takes nobody's place for long.
 */
export function limitConnections(server: Server, most: number): Connections {
  const open = new Set<Socket>();
  const answered = new Map<Socket, number>();
  server.on('connection', (socket) => {
    if (open.size >= most) {
      const idle = [...open].find((one) => !answered.has(one));
      open.delete(idle ?? socket);
      (idle ?? socket).destroy();
      if (idle === undefined) return;
    }
    open.add(socket);
    socket.once('close', () => {
      open.delete(socket);
      answered.delete(socket);
    });
  });
  return {
    open,
    began: (socket) => answered.set(socket, (answered.get(socket) ?? 0) + 1),
    ended: (socket) => {
      const left = (answered.get(socket) ?? 0) - 1;
      if (left > 0) answered.set(socket, left);
      else answered.delete(socket);
    },
  };
}
