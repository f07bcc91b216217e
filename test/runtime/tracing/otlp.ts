import protobuf from 'google-protobuf';

/** A span as a collector receives it. */
export interface ReceivedSpan {
  /** `service.name` of its process. */
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the first span of a trace. */
  readonly parentSpanId: string;
  readonly name: string;
  /** 2 server, 3 client, 4 producer, 5 consumer. */
  readonly kind: number;
  /** ns since 1970 */
  readonly start: bigint;
  readonly end: bigint;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  /** The value 2 means an error. */
  readonly status: number;
}

type Field = { readonly number: number; readonly bytes: Buffer } | { readonly number: number; readonly value: bigint };

/** Parses the fields of a protobuf message. Independent of the library that the service uses to write them. */
const fieldsOf = (message: Uint8Array): Field[] => {
  const reader = new protobuf.BinaryReader(message);
  const fields: Field[] = [];
  while (reader.nextField() && !reader.isEndGroup()) {
    const number = reader.getFieldNumber();
    const wire = reader.getWireType();
    if (wire === 2) fields.push({ number, bytes: Buffer.from(reader.readBytes()) });
    else if (wire === 1) fields.push({ number, value: BigInt(reader.readFixed64String()) });
    else if (wire === 5) fields.push({ number, value: BigInt(reader.readFixed32()) });
    else fields.push({ number, value: BigInt(reader.readUint64String()) });
  }
  return fields;
};

const bytesOf = (fields: readonly Field[], wanted: number): Buffer[] =>
  fields.flatMap((field) => (field.number === wanted && 'bytes' in field ? [field.bytes] : []));
const hexOf = (fields: readonly Field[], wanted: number): string => bytesOf(fields, wanted)[0]?.toString('hex') ?? '';
const textOf = (fields: readonly Field[], wanted: number): string => bytesOf(fields, wanted)[0]?.toString() ?? '';
const numberOf = (fields: readonly Field[], wanted: number): bigint => {
  const found = fields.find((field) => field.number === wanted);
  return found !== undefined && 'value' in found ? found.value : 0n;
};

const attributesOf = (keyValues: readonly Buffer[]): Record<string, string | number | boolean> =>
  Object.fromEntries(
    keyValues.map((each) => {
      const fields = fieldsOf(each);
      const [value] = fieldsOf(bytesOf(fields, 2)[0]!);
      const read = value === undefined ? '' : 'bytes' in value ? value.bytes.toString() : Number(value.value);
      return [textOf(fields, 1), read];
    }),
  );

/** The spans of an ExportTraceServiceRequest: resource spans (1), scope spans (2), spans (2). */
export const spansIn = (request: Uint8Array): ReceivedSpan[] =>
  bytesOf(fieldsOf(request), 1).flatMap((resourceSpans) => {
    const parts = fieldsOf(resourceSpans);
    const resource = attributesOf(bytesOf(fieldsOf(bytesOf(parts, 1)[0]!), 1));
    return bytesOf(parts, 2)
      .flatMap((scope) => bytesOf(fieldsOf(scope), 2))
      .map((bytes): ReceivedSpan => {
        const span = fieldsOf(bytes);
        return {
          service: String(resource['service.name']),
          traceId: hexOf(span, 1),
          spanId: hexOf(span, 2),
          parentSpanId: hexOf(span, 4),
          name: textOf(span, 5),
          kind: Number(numberOf(span, 6)),
          start: numberOf(span, 7),
          end: numberOf(span, 8),
          attributes: attributesOf(bytesOf(span, 9)),
          links: bytesOf(span, 13).map((link) => {
            const fields = fieldsOf(link);
            return { traceId: hexOf(fields, 1), spanId: hexOf(fields, 2) };
          }),
          status: Number(numberOf(fieldsOf(bytesOf(span, 15)[0] ?? Buffer.alloc(0)), 3)),
        };
      });
  });
