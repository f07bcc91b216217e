import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { type ReceivedSpan, spansIn } from './otlp.js';

/** An OpenTelemetry collector that receives OTLP over HTTP and keeps the bytes and the spans. */
export class Collector {
  readonly spans: ReceivedSpan[] = [];
  readonly bodies: Buffer[] = [];
  readonly paths = new Set<string>();
  /** The HTTP status of its responses. */
  status = 200;
  /** Whether the collector never responds. */
  isSilent = false;
  private readonly server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const sent = Buffer.concat(chunks);
      const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
      this.paths.add(request.url!);
      this.bodies.push(body);
      if (this.isSilent) return;
      if (this.status === 200) this.spans.push(...spansIn(body));
      response.writeHead(this.status, { 'content-type': 'application/x-protobuf' }).end();
    });
  });

  /** @returns its URL, for OTEL_EXPORTER_OTLP_ENDPOINT */
  async start(): Promise<string> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return `http://127.0.0.1:${(this.server.address() as { port: number }).port}`;
  }

  named(name: string): ReceivedSpan[] {
    return this.spans.filter((span) => span.name === name);
  }

  async stop(): Promise<void> {
    if (!this.server.listening) return;
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}
