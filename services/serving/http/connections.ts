import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** The connections of a server. */
type Connections = {
  readonly open: ReadonlySet<Socket>;
  /** The connection has a complete request that is being answered, so it must not be closed to make room. */
  readonly began: (socket: Socket) => void;
  readonly ended: (socket: Socket) => void;
};

/**
 * Limits the connections of a server. Beyond the limit, the oldest idle connection is closed, so that clients that
 * open many connections without sending requests cannot block others.
 */
export function limitConnections(server: Server, most: number): Connections {
  const open = new Set<Socket>();
  const answered = new Map<Socket, number>();
  server.on('connection', (socket) => {
    if (open.size >= most) {
      const idle = [...open].find((candidate) => !answered.has(candidate));
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
