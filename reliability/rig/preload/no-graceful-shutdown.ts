/** Removes the SIGTERM handlers, so that Node ends the process at once. */
const listen = process.on.bind(process);

process.on = ((name: string, listener: () => void) =>
  name === 'SIGTERM' ? process : listen(name as 'exit', listener)) as typeof process.on;
