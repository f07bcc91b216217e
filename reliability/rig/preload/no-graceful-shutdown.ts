/** Removes the SIGTERM handlers, so that SIGTERM ends the process immediately. */
const listen = process.on.bind(process);

process.on = ((name: string, listener: () => void) =>
  name === 'SIGTERM' ? process : listen(name as 'exit', listener)) as typeof process.on;
