/** A process that gives one JSON text to everybody who asks: what `node:http` alone can do. The text comes by message. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

let json = Buffer.from('{}');
const server = createServer((_, response) => {
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': json.length });
  response.end(json);
});
process.on('message', (text: string) => {
  json = Buffer.from(text);
  process.send!('set');
});
process.on('disconnect', () => process.exit());
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.send!({ url: `http://127.0.0.1:${port}` });
});
