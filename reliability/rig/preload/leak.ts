import './report-memory.js';

/** Leaks memory every 100 ms. */
const kept: number[][] = [];

setInterval(() => kept.push(Array.from({ length: 32_768 }, Math.random)), 100).unref();
