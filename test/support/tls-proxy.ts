import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { CERTIFICATE, KEY } from './eventstore-double/certificate.js';

/** A self-signed certificate for localhost and 127.0.0.1 that no client trusts. */
const UNTRUSTED_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgIP/MpcMH5yKVoz2n
kODRnclKppazTmtrsZqOEI8yLFqhRANCAARkpUo/rSTOf+5tLX+kEnVTLIOGQ4av
OeysjQ63pUkQrDuHRTeQKXJBREZq8zwR2uSWNzp54fdT8VxTF9a4hK20
-----END PRIVATE KEY-----
`;
const UNTRUSTED_CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBnDCCAUGgAwIBAgIURA2VoqrWXKCYb3clKaDCvq5mc7owCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyOTAzMzM1NVoYDzIxMjYxMTA1
MDMzMzU1WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARkpUo/rSTOf+5tLX+kEnVTLIOGQ4avOeysjQ63pUkQrDuHRTeQKXJB
REZq8zwR2uSWNzp54fdT8VxTF9a4hK20o28wbTAdBgNVHQ4EFgQU9/JdZFWLQqF8
+yvcxQRP2lOrRq4wHwYDVR0jBBgwFoAU9/JdZFWLQqF8+yvcxQRP2lOrRq4wDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSQAwRgIhANEeZdWbjhT8PZIRjwZ7C6TictUNctWEQ32LNb4fvi+TAiEA
zNxT1BqIUgHtbYXAeOV7ML0mP9DgXrJx5ak01DuMmQQ=
-----END CERTIFICATE-----
`;

/** Certificates of the authority for the same key: one that was valid in 2020, and one for database.example. */
const EXPIRED_CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBfTCCASOgAwIBAgIBEDAKBggqhkjOPQQDAjAcMRowGAYDVQQDDBFldmVudHN0
b3JlZGItbm9kZTAeFw0yMDAxMDEwMDAwMDBaFw0yMTAxMDEwMDAwMDBaMBQxEjAQ
BgNVBAMMCWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABGSlSj+t
JM5/7m0tf6QSdVMsg4ZDhq857KyNDrelSRCsO4dFN5ApckFERmrzPBHa5JY3Onnh
91PxXFMX1riErbSjXjBcMBoGA1UdEQQTMBGCCWxvY2FsaG9zdIcEfwAAATAdBgNV
HQ4EFgQU9/JdZFWLQqF8+yvcxQRP2lOrRq4wHwYDVR0jBBgwFoAUNVsromQ3QOcJ
g2xcamO7WthQUZcwCgYIKoZIzj0EAwIDSAAwRQIgU5eICmr4/GUlI2hUjJiNeA+I
kjT4GNT9RPzB0BgAjJgCIQC2YmTm3vIOPM4uccvOnFacyyjX3OLB20vgVsuUiNgI
wg==
-----END CERTIFICATE-----
`;
const CERTIFICATE_OF_OTHER_HOST = `-----BEGIN CERTIFICATE-----
MIIBgTCCASagAwIBAgIBETAKBggqhkjOPQQDAjAcMRowGAYDVQQDDBFldmVudHN0
b3JlZGItbm9kZTAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowFDES
MBAGA1UEAwwJbG9jYWxob3N0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEZKVK
P60kzn/ubS1/pBJ1UyyDhkOGrznsrI0Ot6VJEKw7h0U3kClyQURGavM8Edrkljc6
eeH3U/FcUxfWuISttKNfMF0wGwYDVR0RBBQwEoIQZGF0YWJhc2UuZXhhbXBsZTAd
BgNVHQ4EFgQU9/JdZFWLQqF8+yvcxQRP2lOrRq4wHwYDVR0jBBgwFoAUNVsromQ3
QOcJg2xcamO7WthQUZcwCgYIKoZIzj0EAwIDSQAwRgIhAOYoX3+UlXMqnzfHlufd
cdPEMRlME0ImlBXyGnzxtHcLAiEAq6DtdCrETP9C44N7wK62qDStXAYkoCSPTqef
BWsGxMs=
-----END CERTIFICATE-----
`;

/** How the proxy answers a client that asks for TLS. */
export type TlsAnswer = 'trusted' | 'untrusted' | 'expired' | 'other host' | 'none';

const IDENTITY = {
  trusted: { key: KEY, cert: CERTIFICATE },
  untrusted: { key: UNTRUSTED_KEY, cert: UNTRUSTED_CERTIFICATE },
  expired: { key: UNTRUSTED_KEY, cert: EXPIRED_CERTIFICATE },
  'other host': { key: UNTRUSTED_KEY, cert: CERTIFICATE_OF_OTHER_HOST },
} as const;

/** The certificate authority that clients of the proxy have to trust. */
export { CERTIFICATE as AUTHORITY } from './eventstore-double/certificate.js';

/** Accepts TLS for a PostgreSQL server without TLS. */
export class TlsProxy {
  /** Used for new connections. */
  answer: TlsAnswer = 'trusted';
  private readonly sockets = new Set<Socket>();
  private readonly server = createServer((near) => {
    this.track(near);
    // The first message of a client is its request for TLS.
    near.once('data', () => {
      const { answer } = this;
      near.write(answer === 'none' ? 'N' : 'S');
      if (answer === 'none') return;
      const secure = new TLSSocket(near, { isServer: true, ...IDENTITY[answer] });
      const far = connect(this.target);
      this.track(far);
      for (const socket of [secure, near, far])
        socket
          .on('error', () => {})
          .on('close', () => {
            near.destroy();
            far.destroy();
          });
      secure.pipe(far).pipe(secure);
    });
  });

  constructor(private readonly target: { readonly host: string; readonly port: number }) {}

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  async open(): Promise<void> {
    await once(this.server.listen(0, '127.0.0.1'), 'listening');
  }

  /** Closes all open connections. */
  drop(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  close(): void {
    this.server.close();
    this.drop();
  }

  private track(socket: Socket): void {
    this.sockets.add(socket.on('error', () => {}).on('close', () => this.sockets.delete(socket)));
  }
}
