import type { SpanOptions, Span } from '../../runtime/tracing/tracing.js';
import type { EndpointResponse } from './requests/response.js';

const PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/** The span of a delivery. The span contains only the host of the URL, because path and query may contain secrets. */
export const deliverySpan = (
  endpointId: string,
  deliveryId: string,
  { hostname, port, protocol }: URL,
): SpanOptions => ({
  name: 'POST webhook',
  kind: 'client',
  attributes: () => ({
    'http.request.method': 'POST',
    'server.address': hostname,
    'server.port': port === '' ? (PORTS[protocol] ?? 0) : Number(port),
    'url.scheme': protocol.slice(0, -1),
    'messaging.destination.name': endpointId,
    'messaging.message.id': deliveryId,
    'messaging.operation.name': 'deliver',
    'messaging.operation.type': 'send',
  }),
});

export const endDeliverySpan = (span: Span, { status, error }: EndpointResponse): void => {
  if (status !== undefined) span.set({ 'http.response.status_code': status });
  span.end(error === undefined ? undefined : status === undefined ? 'no_answer' : String(status));
};
