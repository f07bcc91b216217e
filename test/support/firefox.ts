import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { eventually } from './eventually.js';
import { findProgram } from './find-program.js';
import { freePort } from './free-port.js';

/** Returns the path of Firefox: the first one on the PATH; undefined if it is not installed. */
export const findFirefox = (): string | undefined => findProgram(['firefox-esr', 'firefox']);

/** The connection to Marionette, through which Firefox is driven: messages of JSON, each behind its length and a colon. */
class Marionette {
  private unread = Buffer.alloc(0);
  private id = 0;
  private readonly waiting = new Map<number, (answer: readonly [error: unknown, result: unknown]) => void>();

  constructor(private readonly socket: Socket) {
    socket.on('data', (bytes) => this.read(bytes));
  }

  call(name: string, parameters: object): Promise<readonly [error: unknown, result: unknown]> {
    this.id += 1;
    const { id } = this;
    const text = JSON.stringify([0, id, name, parameters]);
    this.socket.write(`${Buffer.byteLength(text)}:${text}`);
    return new Promise((resolve) => void this.waiting.set(id, resolve));
  }

  private read(bytes: Buffer): void {
    this.unread = Buffer.concat([this.unread, bytes]);
    for (let colon = this.unread.indexOf(':'); colon !== -1; colon = this.unread.indexOf(':')) {
      const end = colon + 1 + Number(this.unread.subarray(0, colon));
      if (this.unread.length < end) return;
      const message = JSON.parse(this.unread.subarray(colon + 1, end).toString());
      this.unread = this.unread.subarray(end);
      // The greeting is an object.
      if (Array.isArray(message)) this.waiting.get(message[1])?.([message[2], message[3]]);
    }
  }
}

export interface Firefox {
  /** Opens a page, and returns the address of what Firefox shows: that of the page, or `about:…` of one of its own. */
  open(url: string): Promise<string>;
  close(): Promise<void>;
}

const connected = async (port: number): Promise<Socket> => {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
};

const stop = async (firefox: ChildProcess): Promise<void> => {
  if (firefox.exitCode !== null || firefox.signalCode !== null) return;
  const ended = once(firefox, 'exit');
  firefox.kill();
  await ended;
};

/**
 * Starts a headless Firefox. All of its requests but those to 127.0.0.1 go to a proxy.
 * @param profile the folder of its profile, which may be that of an earlier start
 */
export const launchFirefox = async (
  profile: string,
  proxyPort: number,
  preferences: Readonly<Record<string, string | boolean | number>>,
): Promise<Firefox> => {
  const port = await freePort();
  const all = {
    'network.proxy.type': 1,
    'network.proxy.http': '127.0.0.1',
    'network.proxy.http_port': proxyPort,
    'network.proxy.ssl': '127.0.0.1',
    'network.proxy.ssl_port': proxyPort,
    'network.proxy.no_proxies_on': '127.0.0.1',
    'marionette.port': port,
    // Those that Marionette recommends switch off what is tested here.
    'remote.prefs.recommended': false,
    'app.normandy.enabled': false,
    'datareporting.policy.dataSubmissionEnabled': false,
    ...preferences,
  };
  const lines = Object.entries(all).map((pair) => `user_pref(${pair.map((one) => JSON.stringify(one)).join(', ')});`);
  writeFileSync(join(profile, 'user.js'), lines.join('\n'));
  const args = ['--headless', '--no-remote', '--marionette', '--profile', profile, 'about:blank'];
  const firefox = spawn(findFirefox()!, args, { stdio: 'ignore', env: { PATH: process.env['PATH'], HOME: profile } });
  let socket: Socket | undefined;
  try {
    await eventually(
      'Firefox listens',
      async () => (socket = await connected(port).catch(() => undefined)) !== undefined,
    );
    const marionette = new Marionette(socket!);
    await marionette.call('WebDriver:NewSession', {});
    return {
      open: async (url) => {
        await marionette.call('WebDriver:Navigate', { url });
        const script = 'return document.documentURI';
        const [error, result] = await marionette.call('WebDriver:ExecuteScript', { script, args: [] });
        if (error !== null) throw new Error('Firefox shows no page', { cause: error });
        return (result as { readonly value: string }).value;
      },
      close: async () => {
        socket!.destroy();
        await stop(firefox);
      },
    };
  } catch (error) {
    socket?.destroy();
    await stop(firefox);
    throw error;
  }
};
