import './report-memory.js';

/** Keeps some more numbers every tenth of a second. */
const kept: number[][] = [];

setInterval(() => kept.push(Array.from({ length: 32_768 }, Math.random)), 100).unref();
